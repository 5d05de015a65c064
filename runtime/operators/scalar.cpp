#include "kernels/elementwise.hpp"
#include "runtime/operators/rows.hpp"

namespace cohort {
namespace {

constexpr std::string_view plus_aliases[] = {"_PlusScalar"};
constexpr std::string_view mul_aliases[] = {"_MulScalar"};
constexpr ParameterSpec schema[] = {{.name = "scalar", .type = ParameterType::real}};
constexpr InplacePair first_to_first[] = {{0, 0}};

// out = scale * data + shift; its gradient by scale alone.
class AffineKernel final : public OperatorKernel {
 public:
  AffineKernel(const KernelRequest& request, float scale, float shift)
      : elementwise_(request.backend.elementwise()), count_(request.inputs[0].count()), scale_(scale), shift_(shift) {}
  void forward(const ForwardCall& call, bool) override {
    elementwise_->affine(call.inputs[0].data, scale_, shift_, call.outputs[0], count_);
  }
  void backward(const BackwardCall& call) override {
    elementwise_->affine(call.out_grads[0], scale_, 0, call.in_grads[0], count_);
  }

 private:
  std::unique_ptr<Elementwise> elementwise_;
  std::int64_t count_;
  float scale_;
  float shift_;
};

std::unique_ptr<OperatorKernel> make_plus(const KernelRequest& request) {
  return std::make_unique<AffineKernel>(request, 1.0F, request.parameters.real("scalar"));
}
std::unique_ptr<OperatorKernel> make_mul(const KernelRequest& request) {
  return std::make_unique<AffineKernel>(request, request.parameters.real("scalar"), 0.0F);
}

}  // namespace

const OperatorRow rows::plus_scalar{
    .name = "_plus_scalar",
    .aliases = plus_aliases,
    .parameters = schema,
    .inputs = rows::data_input,
    .infer = rows::same_shapes,
    .layout = LayoutRule::same,
    .make = make_plus,
    .gradient = GradientForm::pass,
    .inplace_forward = first_to_first,
};

const OperatorRow rows::mul_scalar{
    .name = "_mul_scalar",
    .aliases = mul_aliases,
    .parameters = schema,
    .inputs = rows::data_input,
    .infer = rows::same_shapes,
    .layout = LayoutRule::same,
    .make = make_mul,
    .inplace_forward = first_to_first,
    .inplace_backward = first_to_first,
};

}  // namespace cohort
