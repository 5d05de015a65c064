#include <algorithm>

#include "runtime/executor/plan.hpp"

namespace cohort {
namespace {

constexpr std::size_t alignment = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::size_t index(int i) { return static_cast<std::size_t>(i); }

void find_lifetimes(StepPlan& plan) {
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    const int time = static_cast<int>(t);
    for (const int value : plan.steps[t].reads()) {
      Storage& storage = plan.storage_of(value);
      storage.last = std::max(storage.last, time);
    }
    for (const int value : plan.steps[t].writes()) {
      Storage& storage = plan.storage_of(value);
      storage.first = std::min(storage.first, time);
      storage.last = std::max(storage.last, time);
    }
  }
}

// The written value may take the read value's memory when it has taken none yet, this step is the last to use that
// memory, and the only use in this step is the pair's.
bool may_share(const StepPlan& plan, int time, int read, int written) {
  const Storage& source = plan.storage_of(read);
  const Storage& target = plan.storage_of(written);
  if (source.kind != StorageKind::planned || source.last != time || source.bytes != target.bytes) return false;
  if (target.first != time) return false;
  const std::vector<int> reads = plan.steps[index(time)].reads();
  return std::ranges::count_if(reads, [&](int value) { return plan.at(value).storage == plan.at(read).storage; }) == 1;
}

// The target's storage becomes the source's: everything that lived in the target lives there now.
void merge(StepPlan& plan, int source, int target) {
  Storage& kept = plan.storages[index(source)];
  Storage& given = plan.storages[index(target)];
  kept.kind = given.kind;
  kept.index = given.index;
  kept.last = std::max(kept.last, given.last);
  given = Storage{};
  for (Value& value : plan.values)
    if (value.storage == target) value.storage = source;
}

void share_in_place(StepPlan& plan) {
  for (std::size_t t = 0; t < plan.steps.size(); ++t) {
    const PlannedStep& step = plan.steps[t];
    for (const InplacePair pair : step.inplace) {
      const int read = step.read_of(pair);
      const int written = step.written_of(pair);
      if (read < 0 || written < 0 || !may_share(plan, static_cast<int>(t), read, written)) continue;
      merge(plan, plan.at(read).storage, plan.at(written).storage);
    }
  }
}

// Largest first, each at the lowest offset that is free during its lifetime.
void place(StepPlan& plan) {
  std::vector<Storage*> order;
  for (Storage& storage : plan.storages)
    if (storage.kind == StorageKind::planned && storage.bytes > 0 && storage.last >= 0) order.push_back(&storage);
  std::ranges::stable_sort(order, std::greater<>(), &Storage::bytes);
  std::vector<Storage*> placed;  // by offset
  for (Storage* storage : order) {
    std::size_t offset = 0;
    for (const Storage* other : placed) {
      if (other->first > storage->last || storage->first > other->last) continue;
      if (offset + storage->bytes <= other->offset) break;
      offset = std::max(offset, aligned(other->offset + other->bytes));
    }
    storage->offset = offset;
    plan.planned_bytes = std::max(plan.planned_bytes, aligned(offset + storage->bytes));
    placed.insert(std::ranges::upper_bound(placed, offset, {}, &Storage::offset), storage);
  }
}

}  // namespace

void plan_memory(StepPlan& plan) {
  for (const Storage& storage : plan.storages)
    if (storage.kind == StorageKind::planned) plan.unshared_bytes += aligned(storage.bytes);
  find_lifetimes(plan);
  share_in_place(plan);
  place(plan);
}

}  // namespace cohort
