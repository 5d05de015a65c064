#include "kernels/elementwise.hpp"
#include "runtime/operators/rows.hpp"

namespace cohort {
namespace {

constexpr std::string_view add_aliases[] = {"_add", "_plus", "_Plus"};
constexpr std::string_view subtract_aliases[] = {"_sub", "_minus", "_Minus"};
constexpr std::string_view multiply_aliases[] = {"_mul", "_Mul"};
constexpr InplacePair forward_pairs[] = {{0, 0}, {1, 0}};
constexpr InplacePair first_to_first[] = {{0, 0}};

class BinaryKernel : public OperatorKernel {
 public:
  explicit BinaryKernel(const KernelRequest& request)
      : elementwise_(request.backend.elementwise()), count_(request.inputs[0].count()) {}

 protected:
  std::unique_ptr<Elementwise> elementwise_;
  std::int64_t count_;
};

class AddKernel final : public BinaryKernel {
 public:
  using BinaryKernel::BinaryKernel;
  void forward(const ForwardCall& call, bool) override {
    elementwise_->add(call.inputs[0].data, call.inputs[1].data, call.outputs[0], count_);
  }
};

class SubtractKernel final : public BinaryKernel {
 public:
  using BinaryKernel::BinaryKernel;
  void forward(const ForwardCall& call, bool) override {
    elementwise_->subtract(call.inputs[0].data, call.inputs[1].data, call.outputs[0], count_);
  }
  void backward(const BackwardCall& call) override {
    const float* out_grad = call.out_grads[0];
    float* const lhs = call.in_grads[0];
    if (call.in_grads[1] != nullptr) elementwise_->affine(out_grad, -1, 0, call.in_grads[1], count_);
    if (lhs != nullptr && lhs != out_grad) elementwise_->affine(out_grad, 1, 0, lhs, count_);
  }
};

class MultiplyKernel final : public BinaryKernel {
 public:
  using BinaryKernel::BinaryKernel;
  void forward(const ForwardCall& call, bool) override {
    elementwise_->multiply(call.inputs[0].data, call.inputs[1].data, call.outputs[0], count_);
  }
  // The left gradient comes last: it may be the memory of the output's.
  void backward(const BackwardCall& call) override {
    for (const std::size_t side : {1, 0})
      if (call.in_grads[side] != nullptr)
        elementwise_->multiply(call.out_grads[0], call.inputs[1 - side].data, call.in_grads[side], count_);
  }
};

template <class Kernel>
std::unique_ptr<OperatorKernel> make(const KernelRequest& request) {
  return std::make_unique<Kernel>(request);
}

BackwardReads other_factor(const Parameters&, const std::vector<bool>& wanted) {
  BackwardReads result;
  if (wanted[0]) result.inputs.push_back(1);
  if (wanted[1]) result.inputs.push_back(0);
  return result;
}

}  // namespace

const OperatorRow rows::elemwise_add{
    .name = "elemwise_add",
    .aliases = add_aliases,
    .hint = "_plus",
    .inputs = rows::lhs_rhs_inputs,
    .infer = rows::same_shapes,
    .layout = LayoutRule::same,
    .make = make<AddKernel>,
    .gradient = GradientForm::pass,
    .inplace_forward = forward_pairs,
};

const OperatorRow rows::elemwise_sub{
    .name = "elemwise_sub",
    .aliases = subtract_aliases,
    .hint = "_minus",
    .inputs = rows::lhs_rhs_inputs,
    .infer = rows::same_shapes,
    .layout = LayoutRule::same,
    .make = make<SubtractKernel>,
    .inplace_forward = forward_pairs,
    .inplace_backward = first_to_first,
};

const OperatorRow rows::elemwise_mul{
    .name = "elemwise_mul",
    .aliases = multiply_aliases,
    .hint = "_mul",
    .inputs = rows::lhs_rhs_inputs,
    .infer = rows::same_shapes,
    .layout = LayoutRule::same,
    .make = make<MultiplyKernel>,
    .backward_reads = other_factor,
    .inplace_forward = forward_pairs,
    .inplace_backward = first_to_first,
};

}  // namespace cohort
