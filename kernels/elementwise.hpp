// Element-wise sums, products and fills over float32, and the conversion between memory layouts.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/view.hpp"

namespace cohort {

// Stateless; every pointer argument covers `count` elements and `out` may be any of the inputs.
class Elementwise {
 public:
  virtual ~Elementwise() = default;
  virtual void fill(float* out, std::int64_t count, float value) = 0;
  // out = scale * a + shift.
  virtual void affine(const float* a, float scale, float shift, float* out, std::int64_t count) = 0;
  virtual void add(const float* a, const float* b, float* out, std::int64_t count) = 0;
  virtual void subtract(const float* a, const float* b, float* out, std::int64_t count) = 0;
  virtual void multiply(const float* a, const float* b, float* out, std::int64_t count) = 0;
  // Copies an image batch (N,C,H,W) into the layout of `out`; equal layouts, one channel or a 1x1 image copy plainly.
  virtual void convert(const ConstTensorView& in, const TensorView& out) = 0;
};

}  // namespace cohort
