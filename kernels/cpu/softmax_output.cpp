#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/factories.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace cohort::cpu {

namespace {

COHORT_CLONES void softmax_row(const float* in, float* out, std::int64_t classes) {
  float highest = in[0];
  for (std::int64_t k = 1; k < classes; ++k) highest = in[k] > highest ? in[k] : highest;
#pragma omp simd
  for (std::int64_t k = 0; k < classes; ++k) out[k] = exp_of_negative(in[k] - highest);
  float sum = 0;
  for (std::int64_t k = 0; k < classes; ++k) sum += out[k];
  const float factor = 1.0f / sum;
  for (std::int64_t k = 0; k < classes; ++k) out[k] *= factor;
}

// The softmax over `classes` of each of `columns` (at most column_tile) neighbours; classes lie `inner` apart.
constexpr std::int64_t column_tile = 64;
COHORT_CLONES void softmax_columns(const float* in, float* out, std::int64_t classes, std::int64_t inner,
                                   std::int64_t columns) {
  float highest[column_tile];
  float sum[column_tile] = {};
  for (std::int64_t i = 0; i < columns; ++i) highest[i] = in[i];
  for (std::int64_t k = 1; k < classes; ++k)
    for (std::int64_t i = 0; i < columns; ++i)
      highest[i] = in[k * inner + i] > highest[i] ? in[k * inner + i] : highest[i];
  for (std::int64_t k = 0; k < classes; ++k)
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) {
      out[k * inner + i] = exp_of_negative(in[k * inner + i] - highest[i]);
      sum[i] += out[k * inner + i];
    }
  for (std::int64_t i = 0; i < columns; ++i) sum[i] = 1.0f / sum[i];
  for (std::int64_t k = 0; k < classes; ++k)
    for (std::int64_t i = 0; i < columns; ++i) out[k * inner + i] *= sum[i];
}

class LoopSoftmaxOutput final : public SoftmaxOutput {
 public:
  explicit LoopSoftmaxOutput(const SoftmaxOutputSpec& spec) : spec_(spec) {
    COHORT_CHECK(spec.outer > 0 && spec.classes > 0 && spec.inner > 0, "softmax_output: outer {}, classes {}, inner {}",
                 spec.outer, spec.classes, spec.inner);
    COHORT_CHECK(spec.multi_output || spec.inner == 1, "softmax_output: inner {} without multi_output", spec.inner);
    COHORT_CHECK(spec.smooth_alpha == 0 || spec.classes > 1, "softmax_output: smoothing needs two classes");
  }

  void forward(const float* data, float* probability) override {
    const std::int64_t block = spec_.classes * spec_.inner;
    over_blocks([&](std::int64_t n) {
      if (spec_.inner == 1) softmax_row(data + n * block, probability + n * block, spec_.classes);
      for (std::int64_t i = 0; spec_.inner > 1 && i < spec_.inner; i += column_tile)
        softmax_columns(data + n * block + i, probability + n * block + i, spec_.classes, spec_.inner,
                        std::min(column_tile, spec_.inner - i));
    });
  }

  void backward(const float* probability, const float* label, const float* out_grad, float* data_grad) override {
    const std::int64_t block = spec_.classes * spec_.inner;
    const float factor = spec_.label_is_distribution ? spec_.grad_scale : label_factor(label);
    over_blocks([&](std::int64_t n) {
      const float* p = probability + n * block;
      float* grad = data_grad + n * block;
      if (spec_.label_is_distribution) {
        for (std::int64_t i = 0; i < block; ++i) grad[i] = (p[i] - label[n * block + i]) * factor;
      } else {
        for (std::int64_t column = 0; column < spec_.inner; ++column)
          index_gradient(p + column, label[n * spec_.inner + column], factor, grad + column);
      }
      if (out_grad != nullptr)
        for (std::int64_t i = 0; i < block; ++i) grad[i] *= out_grad[n * block + i];
    });
  }

 private:
  template <class Body>
  void over_blocks(const Body& body) const {
    constexpr std::int64_t grain = element_grain / 16;  // an exponential costs as much as many additions
    parallel_ranges(spec_.outer, grain / (spec_.classes * spec_.inner) + 1, 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t n = begin; n < end; ++n) body(n);
                    });
  }

  // Labels are compared as integers; values no integer holds match no class.
  static std::int64_t as_index(float label) {
    return label > -2147483648.0f && label < 2147483648.0f ? static_cast<std::int64_t>(label) : -2147483648LL;
  }

  // Gradient of one position; its classes lie `inner` apart.
  void index_gradient(const float* p, float label, float factor, float* grad) const {
    const std::int64_t inner = spec_.inner;
    const std::int64_t target = as_index(label);
    if (spec_.use_ignore && target == as_index(spec_.ignore_label)) {
      for (std::int64_t k = 0; k < spec_.classes; ++k) grad[k * inner] = 0;
      return;
    }
    const float alpha = spec_.multi_output ? 0.0f : spec_.smooth_alpha;
    const float others = alpha == 0 ? 0.0f : alpha / static_cast<float>(spec_.classes - 1);
    for (std::int64_t k = 0; k < spec_.classes; ++k)
      grad[k * inner] = (p[k * inner] - (k == target ? 1.0f - alpha : others)) * factor;
  }

  float label_factor(const float* label) const {
    const std::int64_t positions = spec_.outer * spec_.inner;
    switch (spec_.normalization) {
      case LossNormalization::null: return spec_.grad_scale / static_cast<float>(spec_.inner);
      case LossNormalization::batch:
        return spec_.grad_scale / static_cast<float>(spec_.inner * std::max<std::int64_t>(spec_.label_count, 1));
      case LossNormalization::valid: {
        const std::int64_t ignored = as_index(spec_.ignore_label);
        const auto valid =
            std::count_if(label, label + positions, [&](float value) { return as_index(value) != ignored; });
        return spec_.grad_scale / static_cast<float>(std::max<std::int64_t>(valid, 1));
      }
    }
    COHORT_FAIL(check, "softmax_output: unknown normalization {}", static_cast<int>(spec_.normalization));
  }

  SoftmaxOutputSpec spec_;
};

}  // namespace

std::unique_ptr<SoftmaxOutput> make_softmax_output(const SoftmaxOutputSpec& spec) {
  return std::make_unique<LoopSoftmaxOutput>(spec);
}

}  // namespace cohort::cpu
