// Convolution by oneDNN's primitives.
#pragma once

#include "kernels/conv2d.hpp"
#include "kernels/cpu/onednn.hpp"

namespace cohort::cpu {

struct ConvolutionFormats;

// Weights are kept in the formats that the primitives ask for, one copy for each pass that reads them; weight gradients
// come in such a format too and are put in order afterwards.
class PrimitiveConv2d final : public Conv2d {
 public:
  explicit PrimitiveConv2d(const Conv2dSpec& spec);

  void forward(const float* data, Parameter weight, const float* bias, float* out) override;
  void backward_data(const float* out_grad, Parameter weight, float* data_grad) override;
  void backward_weights(const float* data, const float* out_grad, float* weight_grad, float* bias_grad) override;

 private:
  using ForwardDesc = dnnl::convolution_forward::primitive_desc;

  ForwardDesc forward_desc(const ConvolutionFormats& formats) const;
  void make_forward(const ConvolutionFormats& formats, const ForwardDesc& desc);
  void make_backward_data(const ConvolutionFormats& formats, const ForwardDesc& hint);
  void make_backward_weights(const ConvolutionFormats& formats, const ForwardDesc& hint);

  Conv2dSpec spec_;
  Onednn onednn_;
  dnnl::memory data_, out_, bias_, weight_grad_;  // bound to the caller's arrays at each call
  PackedParameter forward_weight_, backward_weight_;
  Primitive forward_, backward_data_, backward_weights_, unpack_;
  bool unpack_weight_grad_ = false;
};

}  // namespace cohort::cpu
