#include "kernels/elementwise.hpp"
#include "runtime/operators/rows.hpp"

namespace cohort {
namespace {

constexpr std::string_view normalizations[] = {"null", "batch"};
constexpr ParameterSpec schema[] = {
    {.name = "grad_scale", .type = ParameterType::real, .default_text = "1"},
    {.name = "normalization", .default_text = "null", .choices = normalizations},
    {.name = "valid_thresh", .type = ParameterType::ignored, .default_text = "0"},
};

class MakeLossKernel final : public OperatorKernel {
 public:
  explicit MakeLossKernel(const KernelRequest& request)
      : elementwise_(request.backend.elementwise()),
        count_(request.inputs[0].count()),
        gradient_(request.parameters.real("grad_scale")) {
    if (request.parameters.text("normalization") == "batch") gradient_ /= static_cast<float>(request.inputs[0][0]);
  }
  void backward(const BackwardCall& call) override { elementwise_->fill(call.in_grads[0], count_, gradient_); }

 private:
  std::unique_ptr<Elementwise> elementwise_;
  std::int64_t count_;
  float gradient_;
};

std::unique_ptr<OperatorKernel> make(const KernelRequest& request) { return std::make_unique<MakeLossKernel>(request); }

bool always(const Parameters&) { return true; }

}  // namespace

const OperatorRow rows::make_loss{
    .name = "MakeLoss",
    .parameters = schema,
    .inputs = rows::data_input,
    .infer = rows::same_shapes,
    .layout = LayoutRule::same,
    .view = true,
    .make = make,
    .ignores_head_gradient = always,
};

}  // namespace cohort
