#include "kernels/activation.hpp"

#include "runtime/operators/rows.hpp"

namespace cohort {
namespace {

constexpr std::string_view kinds[] = {"relu", "sigmoid", "tanh", "softrelu", "softsign"};
constexpr ParameterSpec schema[] = {{.name = "act_type", .choices = kinds}};
constexpr InplacePair first_to_first[] = {{0, 0}};

class ActivationKernel final : public OperatorKernel {
 public:
  explicit ActivationKernel(std::unique_ptr<Activation> kernel) : kernel_(std::move(kernel)) {}
  void forward(const ForwardCall& call, bool) override { kernel_->forward(call.inputs[0].data, call.outputs[0]); }
  void backward(const BackwardCall& call) override {
    kernel_->backward(call.outputs[0], call.out_grads[0], call.in_grads[0]);
  }

 private:
  std::unique_ptr<Activation> kernel_;
};

std::unique_ptr<OperatorKernel> make(const KernelRequest& request) {
  const ActivationSpec spec{.kind = activation_from_name(request.parameters.text("act_type")).value(),
                            .count = request.inputs[0].count()};
  return std::make_unique<ActivationKernel>(request.backend.activation(spec));
}

BackwardReads reads(const Parameters&, const std::vector<bool>&) { return {.outputs = {0}}; }

}  // namespace

const OperatorRow rows::activation{
    .name = "Activation",
    .parameters = schema,
    .inputs = rows::data_input,
    .infer = rows::same_shapes,
    .layout = LayoutRule::same,
    .make = make,
    .backward_reads = reads,
    .inplace_forward = first_to_first,
    .inplace_backward = first_to_first,
};

}  // namespace cohort
