#include "kernels/update.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/parallel.hpp"

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

using Block = std::array<float, block>;

void copy(const float* from, float* to, std::int64_t count) {
  std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

// The sum of the contributions from element `begin` on; there are at least two.
void sum_block(const UpdateSlice& slice, std::int64_t begin, std::int64_t count, Block& sum) {
  const auto parts = slice.contributions;
  add(parts[0] + begin, parts[1] + begin, sum.data(), count);
  for (const float* part : parts.subspan(2)) accumulate(part + begin, sum.data(), count);
}

// Calls rule(sum, weights, begin, count) over the slice, in order; it changes the weights it is given.
//
// Several contributions mean that other cores have read these weights. Changing such memory in place costs a round trip
// for every cache line, as each is read first and then claimed; writing it whole, by a copy long enough to become a
// string move, does not wait. So the rule works on a copy: half the time for weights that lie in caches.
template <class Rule>
void update_weights(const UpdateSlice& slice, const Rule& rule) {
  parallel_ranges(slice.elements, element_grain, block, [&](std::int64_t first, std::int64_t end) {
    if (slice.contributions.size() == 1)
      return rule(slice.contributions[0] + first, slice.weight + first, first, end - first);
    alignas(64) Block sum;
    alignas(64) Block weights;
    for (std::int64_t begin = first; begin < end; begin += block) {
      const std::int64_t count = std::min(block, end - begin);
      sum_block(slice, begin, count, sum);
      copy(slice.weight + begin, weights.data(), count);
      rule(sum.data(), weights.data(), begin, count);
      copy(weights.data(), slice.weight + begin, count);
    }
  });
}

class Assign final : public UpdateKernel {
 public:
  int state_count(const UpdateStep&) const override { return 0; }
  void run(const UpdateSlice& slice, const UpdateStep&) const override {
    if (slice.elements == 0) return;  // its pointers may be null
    parallel_ranges(slice.elements, element_grain, block, [&](std::int64_t first, std::int64_t end) {
      if (slice.contributions.size() == 1)
        return copy(slice.contributions[0] + first, slice.weight + first, end - first);
      alignas(64) Block sum;
      for (std::int64_t begin = first; begin < end; begin += block) {
        const std::int64_t count = std::min(block, end - begin);
        sum_block(slice, begin, count, sum);
        copy(sum.data(), slice.weight + begin, count);
      }
    });
  }
};

class Sgd final : public UpdateKernel {
 public:
  int state_count(const UpdateStep& step) const override { return step.momentum != 0 ? 1 : 0; }
  void run(const UpdateSlice& slice, const UpdateStep& step) const override {
    const SgdNumbers numbers(step);
    if (state_count(step) == 0)
      return update_weights(
          slice, [&](const float* sum, float* w, std::int64_t, std::int64_t count) { sgd(sum, w, count, numbers); });
    float* const v = slice.states[0];
    update_weights(slice, [&](const float* sum, float* w, std::int64_t begin, std::int64_t count) {
      sgd_momentum(sum, w, v + begin, count, numbers);
    });
  }
};

class Test final : public UpdateKernel {
 public:
  int state_count(const UpdateStep&) const override { return 0; }
  void run(const UpdateSlice& slice, const UpdateStep& step) const override {
    update_weights(slice, [&](const float* sum, float* w, std::int64_t, std::int64_t count) {
      test_rule(sum, w, count, step.rescale);
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
