// Which storages of a plan lie over each other.
#include <algorithm>

#include "runtime/executor/plan.hpp"
#include "runtime/models/models.hpp"
#include "test/graph/graph_support.hpp"
#include "test/support/catch.hpp"
#include "test/support/compute_threads.hpp"

using namespace cohort;
using namespace cohort::test;

namespace {

// A chain of steps, each reading the value before it; every third value is read once more at the end, so that
// lifetimes nest. Sizes vary, powers of two and odd ones.
StepPlan chain(int steps) {
  StepPlan plan;
  std::vector<int> late;
  int before = plan.add_value({1}, Layout::row_major, StorageKind::argument, 0);
  for (int t = 0; t < steps; ++t) {
    PlannedStep step;
    step.inputs = {before};
    if (t == steps - 1) step.inputs.insert(step.inputs.end(), late.begin(), late.end());
    before = plan.add_value({(t * 37) % 11 * 100 + (1 << t % 10)}, Layout::row_major);
    step.outputs = {before};
    if (t % 3 == 0) late.push_back(before);
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

struct Overlaps {
  int alive = 0;    // of two that are alive at the same step
  int apart = 0;    // of two that begin at different offsets
  int unequal = 0;  // of two, one more than twice as large as the other
  int all = 0;
};

Overlaps count_overlaps(const StepPlan& plan) {
  std::vector<Storage> planned;
  for (const Storage& storage : plan.storages)
    if (storage.kind == StorageKind::planned && storage.last >= 0) planned.push_back(storage);
  Overlaps found;
  for (std::size_t i = 0; i < planned.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Storage& a = planned[i];
      const Storage& b = planned[j];
      CHECK(std::max(a.offset + a.bytes, b.offset + b.bytes) <= plan.planned_bytes);
      if (a.offset >= b.offset + b.bytes || b.offset >= a.offset + a.bytes) continue;
      ++found.all;
      if (a.first <= b.last && b.first <= a.last) ++found.alive;
      if (a.offset != b.offset) ++found.apart;
      if (std::max(a.bytes, b.bytes) / 2 > std::min(a.bytes, b.bytes)) ++found.unequal;
    }
  return found;
}

}  // namespace

TEST_CASE("storages share memory only when they are not alive together, with several threads only where they begin") {
  for (const int steps : {1, 2, 7, 40, 100}) {
    INFO("steps " << steps);
    StepPlan alone = chain(steps);
    plan_memory(alone, 1);
    CHECK(count_overlaps(alone).alive == 0);

    StepPlan team = chain(steps);
    plan_memory(team, 2);
    const Overlaps found = count_overlaps(team);
    CHECK(found.alive == 0);
    CHECK(found.apart == 0);
    CHECK(found.unequal == 0);
    CHECK(team.planned_bytes <= team.unshared_bytes);
    CHECK(alone.planned_bytes <= team.planned_bytes);
    if (steps >= 40) {
      CHECK(found.all > 0);
      CHECK(count_overlaps(alone).apart > 0);
    }
  }
}

TEST_CASE("an executor shares more memory when one thread computes than when several do") {
  Context context(cpu_backend());
  const Symbol net = build_model("lenet", {});
  const std::map<std::string, Shape> shapes{{"data", {16, 1, 28, 28}}, {"softmax_label", {16}}};
  std::size_t bytes[2] = {};
  for (const int threads : {1, 2}) {
    const ComputeThreads team(threads);
    const auto executor = Executor::simple_bind(net, context, cpu(), shapes);
    bytes[threads - 1] = executor->planned_bytes();
    CHECK(executor->planned_bytes() < executor->unshared_bytes());
  }
  CHECK(bytes[0] < bytes[1]);
}
