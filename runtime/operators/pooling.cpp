#include "kernels/pool2d.hpp"

#include "kernels/base/error.hpp"
#include "runtime/operators/rows.hpp"

namespace cohort {
namespace {

constexpr std::string_view kinds[] = {"max", "avg", "sum"};
constexpr std::string_view conventions[] = {"valid", "full"};
constexpr std::string_view layouts[] = {"None", "NCHW"};
constexpr ParameterSpec schema[] = {
    {.name = "kernel", .type = ParameterType::tuple, .default_text = "()", .minimum = 1},
    {.name = "pool_type", .default_text = "max", .choices = kinds},
    {.name = "global_pool", .type = ParameterType::flag, .default_text = "False"},
    {.name = "pooling_convention", .default_text = "valid", .choices = conventions},
    {.name = "stride", .type = ParameterType::tuple, .default_text = "()", .minimum = 1},
    {.name = "pad", .type = ParameterType::tuple, .default_text = "()", .minimum = 0},
    {.name = "count_include_pad", .type = ParameterType::flag, .default_text = "None"},
    {.name = "layout", .default_text = "None", .choices = layouts},
    {.name = "p_value", .type = ParameterType::ignored, .default_text = "None"},
    {.name = "cudnn_off", .type = ParameterType::ignored, .default_text = "False"},
};

std::int64_t out_extent(const Pool2dSpec& spec, bool full, std::int64_t in, std::size_t axis) {
  if (in == 0) return 0;
  const std::int64_t room = in + 2 * spec.pad[axis] - spec.kernel[axis];
  if (room < 0)
    throw_usage("the window covers {} pixels, but the padded input has {}", spec.kernel[axis], in + 2 * spec.pad[axis]);
  return (room + (full ? spec.stride[axis] - 1 : 0)) / spec.stride[axis] + 1;
}

// The kernel's spec for images of `data`, whose extents may be 0: not known yet.
Pool2dSpec spec_of(const Parameters& parameters, const Shape& data) {
  const auto pair = [&](std::string_view name, std::int64_t fallback) {
    return rows::pair_parameter(parameters, "Pooling", name, fallback);
  };
  Pool2dSpec spec;
  const std::string& kind = parameters.text("pool_type");
  spec.kind = kind == "max" ? PoolKind::max : kind == "avg" ? PoolKind::avg : PoolKind::sum;
  spec.count_include_pad = !parameters.has("count_include_pad") || parameters.flag("count_include_pad");
  spec.batch = data[0];
  spec.channels = data[1];
  spec.height = data[2];
  spec.width = data[3];
  if (parameters.flag("global_pool")) {
    spec.kernel = {spec.height, spec.width};
    spec.out_height = spec.out_width = 1;
    return spec;
  }
  if (parameters.tuple("kernel").empty()) throw_usage("Pooling: kernel is required unless global_pool is set");
  spec.kernel = pair("kernel", 1);
  spec.stride = pair("stride", 1);
  spec.pad = pair("pad", 0);
  const bool full = parameters.text("pooling_convention") == "full";
  spec.out_height = out_extent(spec, full, spec.height, 0);
  spec.out_width = out_extent(spec, full, spec.width, 1);
  return spec;
}

void infer(const Parameters& parameters, std::span<Shape> in, std::span<Shape> out) {
  unify(in[0], Shape{0, 0, 0, 0}, "data");
  const Pool2dSpec spec = spec_of(parameters, in[0]);
  unify(out[0], Shape{in[0][0], in[0][1], spec.out_height, spec.out_width}, "the output");
  unify(in[0], Shape{out[0][0], out[0][1], 0, 0}, "data");
}

class PoolingKernel final : public OperatorKernel {
 public:
  explicit PoolingKernel(std::unique_ptr<Pool2d> kernel) : kernel_(std::move(kernel)) {}
  std::size_t workspace_bytes() const override { return kernel_->workspace_bytes(); }
  void forward(const ForwardCall& call, bool train) override {
    kernel_->forward(call.inputs[0].data, call.outputs[0], train ? call.workspace : nullptr);
  }
  void backward(const BackwardCall& call) override {
    kernel_->backward(call.out_grads[0], call.workspace, call.in_grads[0]);
  }

 private:
  std::unique_ptr<Pool2d> kernel_;
};

std::unique_ptr<OperatorKernel> make(const KernelRequest& request) {
  return std::make_unique<PoolingKernel>(request.backend.pool2d(spec_of(request.parameters, request.inputs[0])));
}

BackwardReads reads(const Parameters&, const std::vector<bool>&) { return {.workspace = true}; }

}  // namespace

const OperatorRow rows::pooling{
    .name = "Pooling",
    .parameters = schema,
    .inputs = rows::data_input,
    .infer = infer,
    .layout = LayoutRule::image,
    .make = make,
    .backward_reads = reads,
};

}  // namespace cohort
