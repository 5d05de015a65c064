#include "kernels/update.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/cpu/clones.hpp"

namespace cohort {
namespace cpu {
namespace {

// Several contributions are summed block by block, so that the sum is still in the first-level cache when the rule
// reads it: memory sees one pass.
constexpr std::int64_t block = 2048;

COHORT_CLONES void add(const float* __restrict a, const float* __restrict b, float* __restrict out,
                       std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

COHORT_CLONES void accumulate(const float* __restrict a, float* __restrict out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] += a[i];
}

// Comparisons rather than min and max: a NaN passes.
inline float clipped(float value, float bound) { return value > bound ? bound : (value < -bound ? -bound : value); }

// What the sgd rules compute with; `bound` is infinite when clipping is off, which changes no value.
struct SgdNumbers {
  explicit SgdNumbers(const UpdateStep& step)
      : rate(step.learning_rate),
        decay(step.learning_rate * step.weight_decay),
        rescale(step.rescale),
        bound(step.clip_gradient < 0 ? std::numeric_limits<float>::infinity() : step.clip_gradient),
        momentum(step.momentum) {}
  float rate, decay, rescale, bound, momentum;
};

// w = (1 - lr*wd) * w - lr * h with h = clip(rescale * sum).
COHORT_CLONES void sgd(const float* __restrict sum, float* __restrict w, std::int64_t count, const SgdNumbers& n) {
  const float keep = 1.0f - n.decay, rate = n.rate, rescale = n.rescale, bound = n.bound;
  for (std::int64_t i = 0; i < count; ++i) w[i] = keep * w[i] - rate * clipped(rescale * sum[i], bound);
}

// v = (m * v - (lr*wd) * w) - lr * h, then w = w + v. The rate is inside v: changing it does not rescale old momentum.
COHORT_CLONES void sgd_momentum(const float* __restrict sum, float* __restrict w, float* __restrict v,
                                std::int64_t count, const SgdNumbers& n) {
  const float momentum = n.momentum, decay = n.decay, rate = n.rate, rescale = n.rescale, bound = n.bound;
  for (std::int64_t i = 0; i < count; ++i) {
    const float h = clipped(rescale * sum[i], bound);
    const float next = momentum * v[i] - decay * w[i] - rate * h;
    v[i] = next;
    w[i] = w[i] + next;
  }
}

COHORT_CLONES void test_rule(const float* __restrict sum, float* __restrict w, std::int64_t count, float rescale) {
  for (std::int64_t i = 0; i < count; ++i) w[i] = w[i] + rescale * sum[i];
}

// Calls apply(sum, begin, count) over the slice, in order.
template <class Apply>
void over_sums(const UpdateSlice& slice, const Apply& apply) {
  const auto parts = slice.contributions;
  if (parts.size() == 1) return apply(parts[0], 0, slice.elements);
  alignas(64) std::array<float, block> sum;
  for (std::int64_t begin = 0; begin < slice.elements; begin += block) {
    const std::int64_t count = std::min(block, slice.elements - begin);
    add(parts[0] + begin, parts[1] + begin, sum.data(), count);
    for (const float* part : parts.subspan(2)) accumulate(part + begin, sum.data(), count);
    apply(sum.data(), begin, count);
  }
}

class Assign final : public UpdateKernel {
 public:
  int state_count(const UpdateStep&) const override { return 0; }
  void run(const UpdateSlice& slice, const UpdateStep&) const override {
    if (slice.elements == 0) return;  // its pointers may be null
    const auto parts = slice.contributions;
    if (parts.size() == 2) return add(parts[0], parts[1], slice.weight, slice.elements);
    over_sums(slice, [&](const float* sum, std::int64_t begin, std::int64_t count) {
      std::memcpy(slice.weight + begin, sum, static_cast<std::size_t>(count) * sizeof(float));
    });
  }
};

class Sgd final : public UpdateKernel {
 public:
  int state_count(const UpdateStep& step) const override { return step.momentum != 0 ? 1 : 0; }
  void run(const UpdateSlice& slice, const UpdateStep& step) const override {
    const SgdNumbers numbers(step);
    float* const w = slice.weight;
    if (state_count(step) == 0) {
      over_sums(slice,
                [&](const float* sum, std::int64_t begin, std::int64_t count) { sgd(sum, w + begin, count, numbers); });
      return;
    }
    float* const v = slice.states[0];
    over_sums(slice, [&](const float* sum, std::int64_t begin, std::int64_t count) {
      sgd_momentum(sum, w + begin, v + begin, count, numbers);
    });
  }
};

class Test final : public UpdateKernel {
 public:
  int state_count(const UpdateStep&) const override { return 0; }
  void run(const UpdateSlice& slice, const UpdateStep& step) const override {
    over_sums(slice, [&](const float* sum, std::int64_t begin, std::int64_t count) {
      test_rule(sum, slice.weight + begin, count, step.rescale);
    });
  }
};

template <class Kernel>
std::unique_ptr<UpdateKernel> make() {
  return std::make_unique<Kernel>();
}

struct Row {
  std::string_view name;
  std::unique_ptr<UpdateKernel> (*make)();
};
constexpr Row rows[] = {{"assign", make<Assign>}, {"sgd", make<Sgd>}, {"test", make<Test>}};

}  // namespace
}  // namespace cpu

std::unique_ptr<UpdateKernel> make_cpu_update(std::string_view name) {
  std::string known;
  for (const cpu::Row& row : cpu::rows) {
    if (row.name == name) return row.make();
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw_usage("unknown update rule '{}'; there are: {}", name, known);
}

}  // namespace cohort
