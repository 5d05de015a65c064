#include "kernels/softmax_output.hpp"

#include "kernels/base/error.hpp"
#include "runtime/operators/rows.hpp"

namespace cohort {
namespace {

constexpr std::string_view aliases[] = {"Softmax"};
constexpr std::string_view normalizations[] = {"null", "batch", "valid"};
constexpr ParameterSpec schema[] = {
    {.name = "grad_scale", .type = ParameterType::real, .default_text = "1"},
    {.name = "ignore_label", .type = ParameterType::real, .default_text = "-1"},
    {.name = "use_ignore", .type = ParameterType::flag, .default_text = "False"},
    {.name = "multi_output", .type = ParameterType::flag, .default_text = "False"},
    {.name = "preserve_shape", .type = ParameterType::flag, .default_text = "False"},
    {.name = "normalization", .default_text = "null", .choices = normalizations},
    {.name = "out_grad", .type = ParameterType::flag, .default_text = "False"},
    {.name = "smooth_alpha", .type = ParameterType::real, .default_text = "0"},
};

std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
  std::int64_t result = 1;
  for (std::size_t axis = begin; axis < end; ++axis) result *= shape[axis];
  return result;
}

// How the data is seen: outer x classes x inner.
SoftmaxOutputSpec view_of_data(const Parameters& parameters, const Shape& data) {
  SoftmaxOutputSpec spec;
  spec.multi_output = parameters.flag("multi_output");
  const std::size_t axis = spec.multi_output || !parameters.flag("preserve_shape") ? 1 : data.rank() - 1;
  const std::size_t classes_end = spec.multi_output ? 2 : data.rank();
  spec.outer = product(data, 0, axis);
  spec.classes = product(data, axis, classes_end);
  spec.inner = product(data, classes_end, data.rank());
  return spec;
}

// The label's shape where nothing is known of it.
Shape default_label(const SoftmaxOutputSpec& spec, const Parameters& parameters, const Shape& data) {
  if (spec.multi_output) return {spec.outer, spec.inner};
  if (!parameters.flag("preserve_shape")) return {spec.outer};
  return Shape(std::vector<std::int64_t>(data.begin(), data.end() - 1));
}

void infer(const Parameters& parameters, std::span<Shape> in, std::span<Shape> out) {
  unify(in[0], out[0], "data");
  unify(out[0], in[0], "the output");
  const Shape& data = in[0];
  if (!data.known()) return;
  if (data.rank() < 2) throw_usage("data has shape {}, but a class axis is needed", to_string(data));
  const SoftmaxOutputSpec spec = view_of_data(parameters, data);
  Shape& label = in[1];
  if (!label.known()) return unify(label, default_label(spec, parameters, data), "label");
  const bool indices = label[0] == data[0] && label.count() == spec.outer * spec.inner;
  if (label != data && !indices)
    throw_usage("label has shape {}, but {} (class numbers) or {} (probabilities) is needed", to_string(label),
                to_string(default_label(spec, parameters, data)), to_string(data));
}

class SoftmaxOutputKernel final : public OperatorKernel {
 public:
  SoftmaxOutputKernel(std::unique_ptr<SoftmaxOutput> kernel, bool out_grad)
      : kernel_(std::move(kernel)), out_grad_(out_grad) {}
  void forward(const ForwardCall& call, bool) override { kernel_->forward(call.inputs[0].data, call.outputs[0]); }
  void backward(const BackwardCall& call) override {
    kernel_->backward(call.outputs[0], call.inputs[1].data, out_grad_ ? call.out_grads[0] : nullptr, call.in_grads[0]);
  }

 private:
  std::unique_ptr<SoftmaxOutput> kernel_;
  bool out_grad_;
};

std::unique_ptr<OperatorKernel> make(const KernelRequest& request) {
  const Parameters& parameters = request.parameters;
  SoftmaxOutputSpec spec = view_of_data(parameters, request.inputs[0]);
  spec.label_count = request.inputs[1][0];
  spec.label_is_distribution = request.inputs[1] == request.inputs[0];
  spec.grad_scale = parameters.real("grad_scale");
  spec.ignore_label = parameters.real("ignore_label");
  spec.use_ignore = parameters.flag("use_ignore");
  const std::string& normalization = parameters.text("normalization");
  spec.normalization = normalization == "batch"   ? LossNormalization::batch
                       : normalization == "valid" ? LossNormalization::valid
                                                  : LossNormalization::null;
  spec.smooth_alpha = parameters.real("smooth_alpha");
  return std::make_unique<SoftmaxOutputKernel>(request.backend.softmax_output(spec), parameters.flag("out_grad"));
}

bool data_only(const Parameters&, int input) { return input == 0; }
bool ignores(const Parameters& parameters) { return !parameters.flag("out_grad"); }
BackwardReads reads(const Parameters&, const std::vector<bool>&) { return {.inputs = {1}, .outputs = {0}}; }

}  // namespace

const OperatorRow rows::softmax_output{
    .name = "SoftmaxOutput",
    .aliases = aliases,
    .parameters = schema,
    .inputs = rows::data_label_inputs,
    .infer = infer,
    .make = make,
    .differentiable = data_only,
    .backward_reads = reads,
    .ignores_head_gradient = ignores,
};

}  // namespace cohort
