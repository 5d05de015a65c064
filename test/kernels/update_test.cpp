// The update pass against the written formulas, operation by operation: equality, since the order of operations is part
// of the contract.
#include "kernels/update.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/base/error.hpp"
#include "test/support/catch.hpp"
#include "test/support/compute_threads.hpp"

namespace cohort::test {

namespace {

// The last one is shared out among threads.
constexpr std::int64_t sizes[] = {0, 1, 15, 16, 17, 2047, 2048, 2049, 5003, 70001};

// Values that need all their bits, so that another order of operations shows.
std::vector<float> values(std::int64_t count, int seed) {
  std::vector<float> result(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = std::sin(static_cast<float>(seed) + 0.37f * static_cast<float>(i)) * 3.0f;
  return result;
}

struct Case {
  std::vector<std::vector<float>> parts;
  std::vector<float> weight, state;

  Case(int contributions, std::int64_t count) : weight(values(count, 100)), state(values(count, 200)) {
    for (int i = 0; i < contributions; ++i) parts.push_back(values(count, i));
  }

  // Elements [begin, end) in one call.
  void run(const UpdateKernel& kernel, const UpdateStep& step, std::int64_t begin, std::int64_t end) {
    std::vector<const float*> pointers;
    for (const auto& part : parts) pointers.push_back(part.data() + begin);
    float* states[] = {state.data() + begin};
    kernel.run({pointers, weight.data() + begin, states, end - begin}, step);
  }
  void run(const UpdateKernel& kernel, const UpdateStep& step) {
    run(kernel, step, 0, static_cast<std::int64_t>(weight.size()));
  }

  float sum(std::size_t i) const {
    volatile float total = parts[0][i];  // one rounding per step, whatever the compiler would fold
    for (std::size_t part = 1; part < parts.size(); ++part) total = total + parts[part][i];
    return total;
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

UpdateStep full_step() {
  UpdateStep step;
  step.learning_rate = 0.05f;
  step.weight_decay = 1e-3f;
  step.rescale = 1.0f / 3.0f;
  step.clip_gradient = 0.75f;
  step.momentum = 0.9f;
  return step;
}

float clip(float value, float bound) { return std::fmin(std::fmax(value, -bound), bound); }

}  // namespace

TEST_CASE("update, assign stores the sum in rank order") {
  const ComputeThreads threads(GENERATE(1, 3));
  const auto kernel = make_cpu_update("assign");
  for (const int contributions : {1, 2, 3, 4, 7})
    for (const std::int64_t count : sizes) {
      Case c(contributions, count);
      const Case before = c;
      c.run(*kernel, {});
      for (std::size_t i = 0; i < c.weight.size(); ++i) REQUIRE(c.weight[i] == before.sum(i));
      REQUIRE(same_bits(c.state, before.state));
    }
}

TEST_CASE("update, test adds the rescaled sum") {
  const ComputeThreads threads(GENERATE(1, 3));
  const auto kernel = make_cpu_update("test");
  for (const int contributions : {1, 2, 3})
    for (const std::int64_t count : sizes) {
      Case c(contributions, count);
      const Case before = c;
      c.run(*kernel, full_step());
      for (std::size_t i = 0; i < c.weight.size(); ++i) {
        const volatile float scaled = full_step().rescale * before.sum(i);
        REQUIRE(c.weight[i] == before.weight[i] + scaled);
      }
    }
}

TEST_CASE("update, sgd without momentum") {
  const ComputeThreads threads(GENERATE(1, 3));
  const auto kernel = make_cpu_update("sgd");
  UpdateStep step = full_step();
  step.momentum = 0;
  REQUIRE(kernel->state_count(step) == 0);
  for (const int contributions : {1, 2, 3})
    for (const std::int64_t count : sizes) {
      Case c(contributions, count);
      const Case before = c;
      c.run(*kernel, step);
      for (std::size_t i = 0; i < c.weight.size(); ++i) {
        const volatile float h = clip(step.rescale * before.sum(i), step.clip_gradient);
        const volatile float decay = step.learning_rate * step.weight_decay;
        const volatile float kept = (1.0f - decay) * before.weight[i];
        const volatile float moved = step.learning_rate * h;
        REQUIRE(c.weight[i] == kept - moved);
      }
      REQUIRE(same_bits(c.state, before.state));
    }
}

TEST_CASE("update, sgd with momentum") {
  const ComputeThreads threads(GENERATE(1, 3));
  const auto kernel = make_cpu_update("sgd");
  const UpdateStep step = full_step();
  REQUIRE(kernel->state_count(step) == 1);
  for (const int contributions : {1, 2, 3, 5})
    for (const std::int64_t count : sizes) {
      Case c(contributions, count);
      const Case before = c;
      c.run(*kernel, step);
      for (std::size_t i = 0; i < c.weight.size(); ++i) {
        const volatile float h = clip(step.rescale * before.sum(i), step.clip_gradient);
        const volatile float decay = step.learning_rate * step.weight_decay;
        const volatile float kept = step.momentum * before.state[i];
        const volatile float decayed = decay * before.weight[i];
        const volatile float moved = step.learning_rate * h;
        const volatile float first = kept - decayed;
        const volatile float next = first - moved;
        REQUIRE(c.state[i] == next);
        REQUIRE(c.weight[i] == before.weight[i] + next);
      }
    }
}

TEST_CASE("update, momentum of one and unit gradients give triangular numbers") {
  const auto kernel = make_cpu_update("sgd");
  UpdateStep step;
  step.learning_rate = -1;
  step.momentum = 1;
  Case c(1, 100);
  c.parts[0].assign(100, 1.0f);
  c.weight.assign(100, 0.0f);
  c.state.assign(100, 0.0f);
  for (int k = 1; k <= 50; ++k) c.run(*kernel, step);
  for (std::size_t i = 0; i < 100; ++i) {
    REQUIRE(c.state[i] == 50.0f);
    REQUIRE(c.weight[i] == 50.0f * 51.0f / 2.0f);
  }
}

TEST_CASE("update, any slicing gives the same bits") {
  for (const char* name : {"assign", "sgd", "test"})
    for (const int contributions : {1, 2, 3}) {
      const auto kernel = make_cpu_update(name);
      Case whole(contributions, 5003);
      Case sliced = whole;
      whole.run(*kernel, full_step());
      const std::int64_t cuts[] = {0, 1, 17, 33, 1024, 2050, 4097, 5003};
      for (std::size_t cut = 1; cut < std::size(cuts); ++cut)
        sliced.run(*kernel, full_step(), cuts[cut - 1], cuts[cut]);
      REQUIRE(same_bits(whole.weight, sliced.weight));
      REQUIRE(same_bits(whole.state, sliced.state));
    }
}

TEST_CASE("update, values that are not finite pass through") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const auto kernel = make_cpu_update("sgd");
  for (const float bound : {-1.0f, 2.0f}) {
    UpdateStep step;
    step.learning_rate = 1;
    step.clip_gradient = bound;
    Case c(2, 3);
    c.weight = {0, 0, 0};
    c.parts = {{nan, infinity, infinity}, {1, 1, -infinity}};
    c.run(*kernel, step);
    REQUIRE(std::isnan(c.weight[0]));
    REQUIRE(c.weight[1] == (bound < 0 ? -infinity : -bound));
    REQUIRE(std::isnan(c.weight[2]));
  }
}

TEST_CASE("update, an unknown rule is named with those there are") {
  try {
    make_cpu_update("adamm");
    FAIL("no error");
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::usage);
    REQUIRE(error.message() == "unknown update rule 'adamm'; there are: assign, sgd, test");
  }
}

}  // namespace cohort::test
