// Two-dimensional convolution (cross-correlation, no kernel flip).
#pragma once

#include <array>
#include <cstdint>

#include "kernels/base/shape.hpp"
#include "kernels/parameter.hpp"

namespace cohort {

// out = (in + 2*pad - dilate*(kernel-1) - 1) / stride + 1, rounded down, per axis (height, width).
struct Conv2dSpec {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t filters = 0;
  std::array<std::int64_t, 2> kernel{1, 1};
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> dilate{1, 1};
  std::array<std::int64_t, 2> pad{0, 0};
  std::int64_t groups = 1;
  bool bias = true;
  bool train = true;          // makes the backward passes
  bool data_gradient = true;  // false for a first layer: nobody reads it

  std::array<std::int64_t, 2> output_size() const {
    const auto extent = [&](std::int64_t in, std::size_t axis) {
      return (in + 2 * pad[axis] - dilate[axis] * (kernel[axis] - 1) - 1) / stride[axis] + 1;
    };
    return {extent(height, 0), extent(width, 1)};
  }
};

// Activations (data, out and their gradients) are float32, channels-last (N,H,W,C in memory). Weights are row-major
// (filters, channels/groups, kernel height, kernel width); gradients are overwritten, never added to. Made once per
// shape; a call allocates nothing. One call at a time per object; runs on the calling thread and its OpenMP team.
class Conv2d {
 public:
  virtual ~Conv2d() = default;
  virtual void forward(const float* data, Parameter weight, const float* bias, float* out) = 0;
  virtual void backward_data(const float* out_grad, Parameter weight, float* data_grad) = 0;
  // `bias_grad` is ignored when the spec has no bias.
  virtual void backward_weights(const float* data, const float* out_grad, float* weight_grad, float* bias_grad) = 0;
};

}  // namespace cohort
