#include "runtime/executor/moves.hpp"

namespace cohort {
namespace {

class ConvertKernel final : public OperatorKernel {
 public:
  ConvertKernel(Elementwise& elementwise, const Shape& shape, Layout from, Layout to)
      : elementwise_(elementwise),
        input_{.shape = shape, .layout = from},
        output_{.shape = shape, .layout = to},
        out_grad_{.shape = shape, .layout = to},
        in_grad_{.shape = shape, .layout = from} {}

  void forward(const ForwardCall& call, bool) override {
    input_.data = call.inputs[0].data;
    output_.data = call.outputs[0];
    elementwise_.convert(input_, output_);
  }
  void backward(const BackwardCall& call) override {
    out_grad_.data = call.out_grads[0];
    in_grad_.data = call.in_grads[0];
    elementwise_.convert(out_grad_, in_grad_);
  }

 private:
  Elementwise& elementwise_;
  ConstTensorView input_;
  TensorView output_;
  ConstTensorView out_grad_;
  TensorView in_grad_;
};

// The others are one element-wise call.
class ElementwiseStep : public OperatorKernel {
 public:
  ElementwiseStep(Elementwise& elementwise, std::int64_t count) : elementwise_(elementwise), count_(count) {}

 protected:
  Elementwise& elementwise_;
  std::int64_t count_;
};

class CopyKernel final : public ElementwiseStep {
 public:
  using ElementwiseStep::ElementwiseStep;
  void forward(const ForwardCall& call, bool) override {
    elementwise_.affine(call.inputs[0].data, 1, 0, call.outputs[0], count_);
  }
  void backward(const BackwardCall& call) override {
    elementwise_.affine(call.out_grads[0], 1, 0, call.in_grads[0], count_);
  }
};

class SumKernel final : public ElementwiseStep {
 public:
  using ElementwiseStep::ElementwiseStep;
  void backward(const BackwardCall& call) override {
    elementwise_.add(call.out_grads[0], call.out_grads[1], call.in_grads[0], count_);
  }
};

class ZeroKernel final : public ElementwiseStep {
 public:
  using ElementwiseStep::ElementwiseStep;
  void backward(const BackwardCall& call) override { elementwise_.fill(call.in_grads[0], count_, 0); }
};

}  // namespace

std::unique_ptr<OperatorKernel> make_convert(Elementwise& elementwise, const Shape& shape, Layout from, Layout to) {
  return std::make_unique<ConvertKernel>(elementwise, shape, from, to);
}
std::unique_ptr<OperatorKernel> make_copy(Elementwise& elementwise, std::int64_t count) {
  return std::make_unique<CopyKernel>(elementwise, count);
}
std::unique_ptr<OperatorKernel> make_sum(Elementwise& elementwise, std::int64_t count) {
  return std::make_unique<SumKernel>(elementwise, count);
}
std::unique_ptr<OperatorKernel> make_zero(Elementwise& elementwise, std::int64_t count) {
  return std::make_unique<ZeroKernel>(elementwise, count);
}

}  // namespace cohort
