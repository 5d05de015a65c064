// Two-dimensional pooling over channels-last activations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cohort {

enum class PoolKind { max, avg, sum };

// `out_height` and `out_width` are given by the caller, since the rounding convention decides them. A window may reach
// into the padding and, under "full" rounding, past it. max: padding never wins, the first maximum in row-major order
// takes the whole gradient. avg: the divisor counts cells inside [-pad, in+pad), or only real cells without
// `count_include_pad`.
struct Pool2dSpec {
  PoolKind kind = PoolKind::max;
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
  std::array<std::int64_t, 2> kernel{1, 1};
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> pad{0, 0};
  bool count_include_pad = true;
};

class Pool2d {
 public:
  virtual ~Pool2d() = default;
  // Bytes that forward fills in training and backward reads (positions of maxima); 0 where none are needed.
  virtual std::size_t workspace_bytes() const = 0;
  // `workspace` may be null when no backward follows.
  virtual void forward(const float* data, float* out, void* workspace) = 0;
  virtual void backward(const float* out_grad, const void* workspace, float* data_grad) = 0;
};

}  // namespace cohort
