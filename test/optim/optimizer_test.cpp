// Optimizers: counts, multipliers, rates, and what is refused.
#include "runtime/optim/optimizer.hpp"

#include <limits>

#include "kernels/base/error.hpp"
#include "test/support/catch.hpp"

using cohort::Error;
using cohort::factor_schedule;
using cohort::Optimizer;
using cohort::OptimizerOptions;
using cohort::UpdateStep;

namespace {

OptimizerOptions with(void (*change)(OptimizerOptions&)) {
  OptimizerOptions options;
  change(options);
  return options;
}

}  // namespace

TEST_CASE("every row of the table makes an optimizer under all its names") {
  for (const auto& row : cohort::optimizer_table()) {
    OptimizerOptions options;
    options.name = row.name;
    CHECK(Optimizer(options).options().name == row.name);
  }
  OptimizerOptions options;
  options.name = "ccsgd";
  CHECK(Optimizer(options).options().name == "sgd");
}

TEST_CASE("an unknown optimizer is answered with the table") {
  CHECK_THROWS_WITH(Optimizer(with([](OptimizerOptions& o) { o.name = "sdg"; })),
                    "unknown optimizer 'sdg'; there are: sgd (ccsgd), test");
}

TEST_CASE("values out of range are refused") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(Optimizer(with([](OptimizerOptions& o) { o.learning_rate = -1; })), Error);
  CHECK_THROWS_AS(Optimizer(with([](OptimizerOptions& o) { o.momentum = 1; })), Error);
  CHECK_THROWS_AS(Optimizer(with([](OptimizerOptions& o) { o.momentum = -0.5f; })), Error);
  CHECK_THROWS_AS(Optimizer(with([](OptimizerOptions& o) { o.weight_decay = -1; })), Error);
  CHECK_THROWS_AS(Optimizer(with([](OptimizerOptions& o) { o.lr_mult["a"] = -1; })), Error);
  OptimizerOptions options;
  options.learning_rate = nan;
  CHECK_THROWS_AS(Optimizer(options), Error);
  CHECK_THROWS_AS(Optimizer(OptimizerOptions()).set_learning_rate(nan), Error);
}

TEST_CASE("decay follows the name unless a multiplier is given, or all decay") {
  OptimizerOptions options;
  options.weight_decay = 0.5f;
  options.wd_mult = {{"fc1_bias", 2.0f}, {"fc2_weight", 0.25f}};
  Optimizer by_name(options);
  CHECK(by_name.next_step("fc1_weight").weight_decay == 0.5f);
  CHECK(by_name.next_step("bn_gamma").weight_decay == 0.5f);
  CHECK(by_name.next_step("bn_beta").weight_decay == 0);
  CHECK(by_name.next_step("weight").weight_decay == 0);
  CHECK(by_name.next_step("fc1_bias").weight_decay == 1);
  CHECK(by_name.next_step("fc2_weight").weight_decay == 0.125f);
  options.decay_by_name = false;
  Optimizer all(options);
  CHECK(all.next_step("bn_beta").weight_decay == 0.5f);
  CHECK(all.next_step("fc1_bias").weight_decay == 1);
}

TEST_CASE("the rate is multiplied by the key's factor, also a scheduled one") {
  OptimizerOptions options;
  options.learning_rate = 0.5f;
  options.lr_mult = {{"a", 4.0f}, {"frozen", 0.0f}};
  options.schedule = factor_schedule(1, 0.5);
  Optimizer optimizer(options);
  CHECK(optimizer.next_step("a").learning_rate == 2);
  CHECK(optimizer.next_step("b").learning_rate == 0.5f);
  CHECK(optimizer.next_step("frozen").learning_rate == 0);
  CHECK(optimizer.next_step("a").learning_rate == 1);
}

TEST_CASE("counts are per key; the schedule reads the largest, after it has risen") {
  OptimizerOptions options;
  options.learning_rate = 1;
  options.schedule = factor_schedule(2, 0.5);
  Optimizer optimizer(options);
  CHECK(optimizer.learning_rate() == 1);
  for (const std::uint64_t count : {1, 2}) {
    const UpdateStep step = optimizer.next_step("a");
    CHECK(step.count == count);
    CHECK(step.learning_rate == 1);
  }
  CHECK(optimizer.learning_rate() == 0.5f);
  CHECK(optimizer.next_step("a").learning_rate == 0.5f);
  // b is updated for the first time, at the rate of update 3.
  const UpdateStep late = optimizer.next_step("b");
  CHECK(late.count == 1);
  CHECK(late.learning_rate == 0.5f);
  CHECK(optimizer.updates() == 3);
}

TEST_CASE("a slot is the key, and copies count on by themselves") {
  Optimizer optimizer((OptimizerOptions()));
  const std::size_t a = optimizer.slot("a");
  CHECK(optimizer.slot("b") != a);
  CHECK(optimizer.slot("a") == a);
  CHECK(optimizer.next_step(a).count == 1);
  Optimizer copy = optimizer;
  CHECK(optimizer.next_step("a").count == 2);
  CHECK(copy.next_step(a).count == 2);
  CHECK(copy.next_step("a").count == 3);
  CHECK(optimizer.updates() == 2);
  CHECK_THROWS_AS(optimizer.next_step(std::size_t{2}), Error);
}

TEST_CASE("rescale, clip and momentum reach the step") {
  OptimizerOptions options;
  options.momentum = 0.5f;
  options.clip_gradient = 2;
  options.rescale_grad = 0.25f;
  Optimizer optimizer(options);
  UpdateStep step = optimizer.next_step("a");
  CHECK(step.momentum == 0.5f);
  CHECK(step.clip_gradient == 2);
  CHECK(step.rescale == 0.25f);
  optimizer.set_rescale(0.125f);
  CHECK(optimizer.next_step("a").rescale == 0.125f);
  CHECK(optimizer.state_count() == 1);
  CHECK(Optimizer(OptimizerOptions()).state_count() == 0);
}

TEST_CASE("a clip of 0 is off") {
  OptimizerOptions options;
  options.clip_gradient = 0;
  CHECK(Optimizer(options).next_step("a").clip_gradient < 0);
}

TEST_CASE("the rate can be set unless a schedule sets it") {
  OptimizerOptions options;
  Optimizer constant(options);
  constant.set_learning_rate(0.25f);
  CHECK(constant.next_step("a").learning_rate == 0.25f);
  options.schedule = factor_schedule(10, 0.1);
  Optimizer scheduled(options);
  CHECK_THROWS_AS(scheduled.set_learning_rate(0.25f), Error);
}

TEST_CASE("a warm-up that starts above the base rate is refused with the optimizer") {
  OptimizerOptions options;
  options.learning_rate = 0.25f;
  options.schedule = factor_schedule(10, 0.1, 1e-8, {5, 0.5});
  CHECK_THROWS_AS(Optimizer(options), Error);
}
