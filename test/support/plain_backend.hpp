// A backend of plain loops, so that arrays are tested without the CPU kernels.
#pragma once

#include <memory>

#include "kernels/base/backend.hpp"
#include "kernels/elementwise.hpp"

namespace cohort::test {

class PlainElementwise final : public Elementwise {
 public:
  void fill(float* out, std::int64_t count, float value) override {
    for (std::int64_t i = 0; i < count; ++i) out[i] = value;
  }
  void affine(const float* a, float scale, float shift, float* out, std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) out[i] = scale * a[i] + shift;
  }
  void add(const float* a, const float* b, float* out, std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
  }
  void subtract(const float* a, const float* b, float* out, std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] - b[i];
  }
  void multiply(const float* a, const float* b, float* out, std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] * b[i];
  }
  void convert(const ConstTensorView&, const TensorView&) override {
    COHORT_FAIL(check, "arrays do not convert layouts");
  }
};

inline const Backend& plain_backend() {
  static const Backend backend{
      .name = "plain",
      .activation = nullptr,
      .conv2d = nullptr,
      .dense = nullptr,
      .elementwise = []() -> std::unique_ptr<Elementwise> { return std::make_unique<PlainElementwise>(); },
      .pool2d = nullptr,
      .softmax_output = nullptr,
  };
  return backend;
}

}  // namespace cohort::test
