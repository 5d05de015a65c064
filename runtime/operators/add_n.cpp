#include "kernels/elementwise.hpp"
#include "runtime/operators/rows.hpp"

namespace cohort {
namespace {

constexpr std::string_view aliases[] = {"ElementWiseSum"};
constexpr ParameterSpec schema[] = {{.name = "num_args", .type = ParameterType::integer, .minimum = 1}};
constexpr InplacePair first_to_first[] = {{0, 0}};

std::vector<std::string> inputs(const Parameters& parameters) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < parameters.integer("num_args"); ++i) names.push_back("arg" + std::to_string(i));
  return names;
}

class AddNKernel final : public OperatorKernel {
 public:
  explicit AddNKernel(const KernelRequest& request)
      : elementwise_(request.backend.elementwise()), count_(request.inputs[0].count()) {}
  void forward(const ForwardCall& call, bool) override {
    float* out = call.outputs[0];
    const float* sum = call.inputs[0].data;
    if (call.inputs.size() == 1 && sum != out) elementwise_->affine(sum, 1, 0, out, count_);
    for (std::size_t i = 1; i < call.inputs.size(); ++i, sum = out)
      elementwise_->add(sum, call.inputs[i].data, out, count_);
  }

 private:
  std::unique_ptr<Elementwise> elementwise_;
  std::int64_t count_;
};

std::unique_ptr<OperatorKernel> make(const KernelRequest& request) { return std::make_unique<AddNKernel>(request); }

}  // namespace

const OperatorRow rows::add_n{
    .name = "add_n",
    .aliases = aliases,
    .parameters = schema,
    .count_parameter = "num_args",
    .inputs = inputs,
    .infer = rows::same_shapes,
    .layout = LayoutRule::same,
    .make = make,
    .gradient = GradientForm::pass,
    .inplace_forward = first_to_first,
};

}  // namespace cohort
