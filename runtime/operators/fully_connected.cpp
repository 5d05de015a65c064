#include "kernels/base/error.hpp"
#include "kernels/dense.hpp"
#include "runtime/operators/rows.hpp"
#include "runtime/operators/weighted_layer.hpp"

namespace cohort {
namespace {

constexpr ParameterSpec schema[] = {
    {.name = "num_hidden", .type = ParameterType::integer, .minimum = 1},
    {.name = "no_bias", .type = ParameterType::flag, .default_text = "False"},
    {.name = "flatten", .type = ParameterType::flag, .default_text = "True"},
};

// Elements of one row of the input as the layer sees it, 0 while unknown.
std::int64_t row_elements(const Shape& data, bool flatten) {
  if (data.empty()) return 0;
  if (!flatten) return data[data.rank() - 1];
  return data.rank() == 1 ? 1 : Shape(std::vector<std::int64_t>(data.begin() + 1, data.end())).count();
}

void infer(const Parameters& parameters, std::span<Shape> in, std::span<Shape> out) {
  const std::int64_t hidden = parameters.integer("num_hidden");
  const bool flatten = parameters.flag("flatten");
  if (!in[0].empty()) {
    Shape result = flatten ? Shape{in[0][0], hidden} : in[0];
    if (!flatten) result[result.rank() - 1] = hidden;
    unify(out[0], result, "the output");
  } else if (flatten) {
    unify(out[0], Shape{0, hidden}, "the output");
  }
  unify(in[1], Shape{hidden, row_elements(in[0], flatten)}, "weight");
  if (!in[0].empty() && (!flatten || in[0].rank() == 2)) {
    Shape known = out[0];
    known[known.rank() - 1] = in[1][1];
    unify(in[0], known, "data");
  } else if (!in[0].empty() && in[0][0] == 0) {
    in[0][0] = out[0][0];
  }
  // MXNet also accepts a bias of shape (num_hidden, 1).
  if (!parameters.flag("no_bias") && in[2] != Shape{hidden, 1}) unify(in[2], Shape{hidden}, "bias");
}

std::unique_ptr<OperatorKernel> make(const KernelRequest& request) {
  DenseSpec spec;
  spec.inputs = request.inputs[1][1];
  spec.outputs = request.inputs[1][0];
  spec.batch = request.outputs[0].count() / spec.outputs;
  spec.bias = !request.parameters.flag("no_bias");
  return std::make_unique<rows::WeightedLayer<Dense>>(request.backend.dense(spec), request);
}

}  // namespace

const OperatorRow rows::fully_connected{
    .name = "FullyConnected",
    .parameters = schema,
    .inputs = rows::weighted_inputs,
    .infer = infer,
    .make = make,
    .backward_reads = rows::weighted_reads,
};

}  // namespace cohort
