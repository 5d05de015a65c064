#include "kernels/base/error.hpp"
#include "kernels/conv2d.hpp"
#include "runtime/operators/rows.hpp"
#include "runtime/operators/weighted_layer.hpp"

namespace cohort {
namespace {

constexpr std::string_view layouts[] = {"None", "NCHW"};
constexpr ParameterSpec schema[] = {
    {.name = "kernel", .type = ParameterType::tuple, .minimum = 1},
    {.name = "stride", .type = ParameterType::tuple, .default_text = "()", .minimum = 1},
    {.name = "dilate", .type = ParameterType::tuple, .default_text = "()", .minimum = 1},
    {.name = "pad", .type = ParameterType::tuple, .default_text = "()", .minimum = 0},
    {.name = "num_filter", .type = ParameterType::integer, .minimum = 1},
    {.name = "num_group", .type = ParameterType::integer, .default_text = "1", .minimum = 1},
    {.name = "no_bias", .type = ParameterType::flag, .default_text = "False"},
    {.name = "layout", .default_text = "None", .choices = layouts},
    {.name = "workspace", .type = ParameterType::ignored, .default_text = "1024"},
    {.name = "cudnn_tune", .type = ParameterType::ignored, .default_text = "None"},
    {.name = "cudnn_off", .type = ParameterType::ignored, .default_text = "False"},
};

Conv2dSpec spec_of(const Parameters& parameters) {
  const auto pair = [&](std::string_view name, std::int64_t fallback) {
    return rows::pair_parameter(parameters, "Convolution", name, fallback);
  };
  Conv2dSpec spec;
  spec.filters = parameters.integer("num_filter");
  spec.kernel = pair("kernel", 1);
  spec.stride = pair("stride", 1);
  spec.dilate = pair("dilate", 1);
  spec.pad = pair("pad", 0);
  spec.groups = parameters.integer("num_group");
  spec.bias = !parameters.flag("no_bias");
  if (spec.filters % spec.groups != 0)
    throw_usage("Convolution: num_filter {} is no multiple of num_group {}", spec.filters, spec.groups);
  return spec;
}

// The output extent of one axis, 0 while the input's is unknown.
std::int64_t out_extent(const Conv2dSpec& spec, std::int64_t in, std::size_t axis) {
  if (in == 0) return 0;
  const std::int64_t reach = spec.dilate[axis] * (spec.kernel[axis] - 1) + 1;
  const std::int64_t padded = in + 2 * spec.pad[axis];
  if (reach > padded) throw_usage("the kernel reaches over {} pixels, but the padded input has {}", reach, padded);
  return (padded - reach) / spec.stride[axis] + 1;
}

void infer(const Parameters& parameters, std::span<Shape> in, std::span<Shape> out) {
  const Conv2dSpec spec = spec_of(parameters);
  unify(in[0], Shape{0, 0, 0, 0}, "data");
  unify(out[0], Shape{in[0][0], spec.filters, out_extent(spec, in[0][2], 0), out_extent(spec, in[0][3], 1)},
        "the output");
  unify(in[0], Shape{out[0][0], 0, 0, 0}, "data");
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (spec.stride[axis] != 1 || out[0][axis + 2] == 0) continue;
    Shape known{0, 0, 0, 0};
    known[axis + 2] = out[0][axis + 2] + spec.dilate[axis] * (spec.kernel[axis] - 1) - 2 * spec.pad[axis];
    unify(in[0], known, "data");
  }
  const std::int64_t channels = in[0][1];
  if (channels % spec.groups != 0)
    throw_usage("data has {} channels, no multiple of num_group {}", channels, spec.groups);
  unify(in[1], Shape{spec.filters, channels / spec.groups, spec.kernel[0], spec.kernel[1]}, "weight");
  unify(in[0], Shape{0, in[1][1] * spec.groups, 0, 0}, "data");
  if (spec.bias) unify(in[2], Shape{spec.filters}, "bias");
}

std::unique_ptr<OperatorKernel> make(const KernelRequest& request) {
  Conv2dSpec spec = spec_of(request.parameters);
  const Shape& data = request.inputs[0];
  spec.batch = data[0];
  spec.channels = data[1];
  spec.height = data[2];
  spec.width = data[3];
  spec.train = request.train;
  spec.data_gradient = request.train && request.wanted[0];
  return std::make_unique<rows::WeightedLayer<Conv2d>>(request.backend.conv2d(spec), request);
}

}  // namespace

const OperatorRow rows::convolution{
    .name = "Convolution",
    .parameters = schema,
    .inputs = rows::weighted_inputs,
    .infer = infer,
    .layout = LayoutRule::image,
    .make = make,
    .backward_reads = rows::weighted_reads,
};

}  // namespace cohort
