// Fully connected layer: out = data * weight^T + bias.
#pragma once

#include <cstdint>

#include "kernels/parameter.hpp"

namespace cohort {

struct DenseSpec {
  std::int64_t batch = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool bias = true;
};

// All arrays are row-major float32: data (batch, inputs), weight (outputs, inputs), bias (outputs), out (batch,
// outputs). Gradients are overwritten. Made once per shape; a call allocates nothing; one call at a time per object.
class Dense {
 public:
  virtual ~Dense() = default;
  virtual void forward(const float* data, Parameter weight, const float* bias, float* out) = 0;
  virtual void backward_data(const float* out_grad, Parameter weight, float* data_grad) = 0;
  virtual void backward_weights(const float* data, const float* out_grad, float* weight_grad, float* bias_grad) = 0;
};

}  // namespace cohort
