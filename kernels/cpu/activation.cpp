#include "kernels/base/error.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/factories.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace cohort::cpu {

namespace {

using ForwardLoop = void (*)(const float* in, float* out, std::int64_t count);
using BackwardLoop = void (*)(const float* out, const float* out_grad, float* in_grad, std::int64_t count);

// NaN stays NaN: the comparison is false for it.
inline float relu(float x) { return x < 0.0f ? 0.0f : x; }

inline float tanh(float x) {
  const float e = expm1_of_negative(-2.0f * absolute(x));
  return with_sign_of(e / (2.0f + e), x);
}

inline float sigmoid(float x) {
  const float e = exp_of_negative(-absolute(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

inline float softrelu(float x) { return (x < 0.0f ? 0.0f : x) + log1p_of_unit(exp_of_negative(-absolute(x))); }

inline float softsign(float x) { return x / (1.0f + absolute(x)); }

COHORT_CLONES void relu_forward(const float* in, float* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = relu(in[i]);
}
COHORT_CLONES void tanh_forward(const float* in, float* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = tanh(in[i]);
}
COHORT_CLONES void sigmoid_forward(const float* in, float* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = sigmoid(in[i]);
}
COHORT_CLONES void softrelu_forward(const float* in, float* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = softrelu(in[i]);
}
COHORT_CLONES void softsign_forward(const float* in, float* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = softsign(in[i]);
}

COHORT_CLONES void relu_backward(const float* out, const float* out_grad, float* in_grad, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) in_grad[i] = out[i] > 0.0f ? out_grad[i] : 0.0f;
}
COHORT_CLONES void tanh_backward(const float* out, const float* out_grad, float* in_grad, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) in_grad[i] = out_grad[i] * (1.0f - out[i] * out[i]);
}
COHORT_CLONES void sigmoid_backward(const float* out, const float* out_grad, float* in_grad, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) in_grad[i] = out_grad[i] * (out[i] * (1.0f - out[i]));
}
// d/dx log(1+e^x) = 1 - e^-out.
COHORT_CLONES void softrelu_backward(const float* out, const float* out_grad, float* in_grad, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) in_grad[i] = out_grad[i] * -expm1_of_negative(-out[i]);
}
// d/dx x/(1+|x|) = (1 - |out|)^2.
COHORT_CLONES void softsign_backward(const float* out, const float* out_grad, float* in_grad, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float slope = 1.0f - absolute(out[i]);
    in_grad[i] = out_grad[i] * (slope * slope);
  }
}

ForwardLoop forward_loop(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::relu: return relu_forward;
    case ActivationKind::sigmoid: return sigmoid_forward;
    case ActivationKind::tanh: return tanh_forward;
    case ActivationKind::softrelu: return softrelu_forward;
    case ActivationKind::softsign: return softsign_forward;
  }
  COHORT_FAIL(check, "activation: unknown kind {}", static_cast<int>(kind));
}

BackwardLoop backward_loop(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::relu: return relu_backward;
    case ActivationKind::sigmoid: return sigmoid_backward;
    case ActivationKind::tanh: return tanh_backward;
    case ActivationKind::softrelu: return softrelu_backward;
    case ActivationKind::softsign: return softsign_backward;
  }
  COHORT_FAIL(check, "activation: unknown kind {}", static_cast<int>(kind));
}

class LoopActivation final : public Activation {
 public:
  explicit LoopActivation(const ActivationSpec& spec)
      : count_(spec.count), forward_(forward_loop(spec.kind)), backward_(backward_loop(spec.kind)) {
    COHORT_CHECK(count_ >= 0, "activation: {} elements", count_);
  }

  void forward(const float* data, float* out) override {
    parallel_ranges(count_, element_grain, 16,
                    [&](std::int64_t begin, std::int64_t end) { forward_(data + begin, out + begin, end - begin); });
  }

  void backward(const float* out, const float* out_grad, float* data_grad) override {
    parallel_ranges(count_, element_grain, 16, [&](std::int64_t begin, std::int64_t end) {
      backward_(out + begin, out_grad + begin, data_grad + begin, end - begin);
    });
  }

 private:
  std::int64_t count_;
  ForwardLoop forward_;
  BackwardLoop backward_;
};

}  // namespace

std::unique_ptr<Activation> make_activation(const ActivationSpec& spec) {
  return std::make_unique<LoopActivation>(spec);
}

}  // namespace cohort::cpu
