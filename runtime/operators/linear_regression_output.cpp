#include "kernels/base/error.hpp"
#include "kernels/elementwise.hpp"
#include "runtime/operators/rows.hpp"

namespace cohort {
namespace {

constexpr ParameterSpec schema[] = {{.name = "grad_scale", .type = ParameterType::real, .default_text = "1"}};

void infer(const Parameters&, std::span<Shape> in, std::span<Shape> out) {
  unify(in[0], out[0], "data");
  unify(out[0], in[0], "the output");
  const Shape& data = in[0];
  if (!data.known()) return;
  Shape& label = in[1];
  if (!label.known()) {
    const bool column = data.rank() == 2 && data[1] == 1;
    return unify(label, column && label.rank() != 2 ? Shape{data[0]} : data, "label");
  }
  if (label[0] != data[0] || label.count() != data.count())
    throw_usage("label has shape {}, but one number per element of data {} is needed", to_string(label),
                to_string(data));
}

class LinearRegressionKernel final : public OperatorKernel {
 public:
  explicit LinearRegressionKernel(const KernelRequest& request)
      : elementwise_(request.backend.elementwise()),
        count_(request.inputs[0].count()),
        scale_(request.parameters.real("grad_scale") * static_cast<float>(request.inputs[1][0]) /
               static_cast<float>(count_)) {}
  void backward(const BackwardCall& call) override {
    float* gradient = call.in_grads[0];
    elementwise_->subtract(call.outputs[0], call.inputs[1].data, gradient, count_);
    if (scale_ != 1) elementwise_->affine(gradient, scale_, 0, gradient, count_);
  }

 private:
  std::unique_ptr<Elementwise> elementwise_;
  std::int64_t count_;
  float scale_;
};

std::unique_ptr<OperatorKernel> make(const KernelRequest& request) {
  return std::make_unique<LinearRegressionKernel>(request);
}

bool data_only(const Parameters&, int input) { return input == 0; }
bool always(const Parameters&) { return true; }
BackwardReads reads(const Parameters&, const std::vector<bool>&) { return {.inputs = {1}, .outputs = {0}}; }

}  // namespace

const OperatorRow rows::linear_regression_output{
    .name = "LinearRegressionOutput",
    .parameters = schema,
    .inputs = rows::data_label_inputs,
    .infer = infer,
    .view = true,
    .make = make,
    .differentiable = data_only,
    .backward_reads = reads,
    .ignores_head_gradient = always,
};

}  // namespace cohort
