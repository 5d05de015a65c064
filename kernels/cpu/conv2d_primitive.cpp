#include "kernels/cpu/conv2d_primitive.hpp"

#include "kernels/base/error.hpp"

namespace cohort::cpu {

using dnnl::memory;

namespace {

constexpr auto algorithm = dnnl::algorithm::convolution_direct;

memory::dims dims(std::initializer_list<std::int64_t> extents) { return memory::dims(extents); }

}  // namespace

// The memory descriptors of one convolution. Activations are channels-last; the packed weight format is oneDNN's
// choice.
struct ConvolutionFormats {
  explicit ConvolutionFormats(const Conv2dSpec& spec) {
    using Tag = memory::format_tag;
    constexpr auto f32 = memory::data_type::f32;
    const auto [out_height, out_width] = spec.output_size();
    const std::int64_t group_filters = spec.filters / spec.groups;
    const std::int64_t group_channels = spec.channels / spec.groups;
    data = {dims({spec.batch, spec.channels, spec.height, spec.width}), f32, Tag::nhwc};
    out = {dims({spec.batch, spec.filters, out_height, out_width}), f32, Tag::nhwc};
    if (spec.groups == 1) {
      const auto extents = dims({spec.filters, spec.channels, spec.kernel[0], spec.kernel[1]});
      plain_weight = {extents, f32, Tag::oihw};
      any_weight = {extents, f32, Tag::any};
    } else {
      const auto extents = dims({spec.groups, group_filters, group_channels, spec.kernel[0], spec.kernel[1]});
      plain_weight = {extents, f32, Tag::goihw};
      any_weight = {extents, f32, Tag::any};
    }
    if (spec.bias) bias = {dims({spec.filters}), f32, Tag::x};
    strides = {spec.stride[0], spec.stride[1]};
    dilates = {spec.dilate[0] - 1, spec.dilate[1] - 1};
    pad = {spec.pad[0], spec.pad[1]};
  }

  memory::desc data, out, plain_weight, any_weight, bias;
  memory::dims strides, dilates, pad;
};

PrimitiveConv2d::PrimitiveConv2d(const Conv2dSpec& spec) : spec_(spec) {
  const ConvolutionFormats formats(spec);
  data_ = unbound(onednn_, formats.data);
  out_ = unbound(onednn_, formats.out);
  if (spec.bias) bias_ = unbound(onednn_, formats.bias);
  const auto forward = COHORT_ONEDNN(forward_desc(formats));
  COHORT_ONEDNN(make_forward(formats, forward));
  if (!spec.train) return;
  COHORT_ONEDNN(make_backward_weights(formats, forward));
  if (spec.data_gradient) COHORT_ONEDNN(make_backward_data(formats, forward));
}

void PrimitiveConv2d::forward(const float* data, Parameter weight, const float* bias, float* out) {
  COHORT_ONEDNN(forward_weight_.renew(onednn_, weight));
  bind(data_, data);
  if (spec_.bias) bind(bias_, bias);
  bind(out_, out);
  forward_.run(onednn_);
}

void PrimitiveConv2d::backward_data(const float* out_grad, Parameter weight, float* data_grad) {
  COHORT_CHECK(spec_.train && spec_.data_gradient, "conv2d: made without a data gradient");
  COHORT_ONEDNN(backward_weight_.renew(onednn_, weight));
  bind(out_, out_grad);
  bind(data_, data_grad);
  backward_data_.run(onednn_);
}

void PrimitiveConv2d::backward_weights(const float* data, const float* out_grad, float* weight_grad, float* bias_grad) {
  COHORT_CHECK(spec_.train, "conv2d: made without backward passes");
  bind(data_, data);
  bind(out_, out_grad);
  bind(weight_grad_, weight_grad);
  if (spec_.bias) bind(bias_, bias_grad);
  backward_weights_.run(onednn_);
  if (unpack_weight_grad_) unpack_.run(onednn_);
}

PrimitiveConv2d::ForwardDesc PrimitiveConv2d::forward_desc(const ConvolutionFormats& f) const {
  return make_primitive_desc<dnnl::convolution_forward>(
      onednn_, spec_.train ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, algorithm, f.data,
      f.any_weight, f.bias, f.out, f.strides, f.dilates, f.pad, f.pad);
}

void PrimitiveConv2d::make_forward(const ConvolutionFormats& f, const ForwardDesc& desc) {
  forward_weight_ = PackedParameter(onednn_, f.plain_weight, desc.weights_desc());
  if (spec_.bias) {
    forward_ = Primitive(onednn_, desc,
                         {{DNNL_ARG_SRC, data_},
                          {DNNL_ARG_WEIGHTS, forward_weight_.memory()},
                          {DNNL_ARG_BIAS, bias_},
                          {DNNL_ARG_DST, out_}});
  } else {
    forward_ = Primitive(onednn_, desc,
                         {{DNNL_ARG_SRC, data_}, {DNNL_ARG_WEIGHTS, forward_weight_.memory()}, {DNNL_ARG_DST, out_}});
  }
}

void PrimitiveConv2d::make_backward_data(const ConvolutionFormats& f, const ForwardDesc& hint) {
  const auto desc = make_backward_desc<dnnl::convolution_backward_data>(onednn_, hint, algorithm, f.data, f.any_weight,
                                                                        f.out, f.strides, f.dilates, f.pad, f.pad);
  backward_weight_ = PackedParameter(onednn_, f.plain_weight, desc.weights_desc());
  backward_data_ =
      Primitive(onednn_, desc,
                {{DNNL_ARG_DIFF_DST, out_}, {DNNL_ARG_WEIGHTS, backward_weight_.memory()}, {DNNL_ARG_DIFF_SRC, data_}});
}

void PrimitiveConv2d::make_backward_weights(const ConvolutionFormats& f, const ForwardDesc& hint) {
  const auto desc = make_backward_desc<dnnl::convolution_backward_weights>(
      onednn_, hint, algorithm, f.data, f.any_weight, f.bias, f.out, f.strides, f.dilates, f.pad, f.pad);
  weight_grad_ = unbound(onednn_, f.plain_weight);
  memory packed = weight_grad_;
  unpack_weight_grad_ = desc.diff_weights_desc() != f.plain_weight;
  if (unpack_weight_grad_) {
    packed = memory(desc.diff_weights_desc(), onednn_.engine);
    const dnnl::reorder::primitive_desc unpack(onednn_.engine, desc.diff_weights_desc(), onednn_.engine, f.plain_weight,
                                               user_scratchpad());
    unpack_ = Primitive(onednn_, unpack, {{DNNL_ARG_FROM, packed}, {DNNL_ARG_TO, weight_grad_}});
  }
  if (spec_.bias)
    backward_weights_ = Primitive(onednn_, desc,
                                  {{DNNL_ARG_SRC, data_},
                                   {DNNL_ARG_DIFF_DST, out_},
                                   {DNNL_ARG_DIFF_WEIGHTS, packed},
                                   {DNNL_ARG_DIFF_BIAS, bias_}});
  else
    backward_weights_ =
        Primitive(onednn_, desc, {{DNNL_ARG_SRC, data_}, {DNNL_ARG_DIFF_DST, out_}, {DNNL_ARG_DIFF_WEIGHTS, packed}});
}

}  // namespace cohort::cpu
