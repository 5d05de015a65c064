// Softmax with the gradient of cross-entropy: MXNet's SoftmaxOutput.
#pragma once

#include <cstdint>

namespace cohort {

enum class LossNormalization { null, batch, valid };

// Data is seen as (outer, classes, inner): the softmax runs over `classes`. Without multi_output inner is 1.
// `label_count` is the extent of the label's first axis, for `batch`.
struct SoftmaxOutputSpec {
  std::int64_t outer = 0;
  std::int64_t classes = 0;
  std::int64_t inner = 1;
  std::int64_t label_count = 0;
  bool multi_output = false;
  bool label_is_distribution = false;  // the label has the shape of the data
  float grad_scale = 1;
  float ignore_label = -1;
  bool use_ignore = false;
  LossNormalization normalization = LossNormalization::null;
  float smooth_alpha = 0;
};

// Row-major float32 throughout. Gradient rules: those of MXNet 1.x (a label outside [0, classes) matches no class).
class SoftmaxOutput {
 public:
  virtual ~SoftmaxOutput() = default;
  virtual void forward(const float* data, float* probability) = 0;
  // `out_grad` multiplies the result element-wise where it is not null.
  virtual void backward(const float* probability, const float* label, const float* out_grad, float* data_grad) = 0;
};

}  // namespace cohort
