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

bool alive_together(const Storage& a, const Storage& b) { return a.first <= b.last && b.first <= a.last; }

// The lowest offset that is free during the storage's lifetime.
std::size_t lowest_free(const Storage& storage, const std::vector<Storage*>& placed) {
  std::size_t offset = 0;
  for (const Storage* other : placed) {
    if (!alive_together(*other, storage)) continue;
    if (offset + storage.bytes <= other->offset) break;
    offset = std::max(offset, aligned(other->offset + other->bytes));
  }
  return offset;
}

// The offset of a storage of at most twice the size whose place is free during the storage's lifetime, else `end`.
std::size_t free_place(const Storage& storage, const std::vector<Storage*>& placed, std::size_t end) {
  for (auto at = placed.begin(); at != placed.end();) {
    const std::size_t offset = (*at)->offset;
    const auto next = std::find_if(at, placed.end(), [&](const Storage* other) { return other->offset != offset; });
    const bool fits = std::all_of(at, next, [&](const Storage* other) {
      return other->bytes / 2 <= storage.bytes && !alive_together(*other, storage);
    });
    if (fits) return offset;
    at = next;
  }
  return end;
}

// Largest first. Each of several threads computes its part of every value: where a small value lies in one thread's
// part of a larger one, the other thread's lines of it move from core to core, one by one. So with several threads a
// storage takes over a place of about its size whole; alone it goes wherever it fits.
void place(StepPlan& plan, int threads) {
  std::vector<Storage*> order;
  for (Storage& storage : plan.storages)
    if (storage.kind == StorageKind::planned && storage.bytes > 0 && storage.last >= 0) order.push_back(&storage);
  std::ranges::stable_sort(order, std::greater<>(), &Storage::bytes);
  std::vector<Storage*> placed;  // by offset
  for (Storage* storage : order) {
    storage->offset = threads > 1 ? free_place(*storage, placed, plan.planned_bytes) : lowest_free(*storage, placed);
    plan.planned_bytes = std::max(plan.planned_bytes, aligned(storage->offset + storage->bytes));
    placed.insert(std::ranges::upper_bound(placed, storage->offset, {}, &Storage::offset), storage);
  }
}

}  // namespace

void plan_memory(StepPlan& plan, int threads) {
  for (const Storage& storage : plan.storages)
    if (storage.kind == StorageKind::planned) plan.unshared_bytes += aligned(storage.bytes);
  find_lifetimes(plan);
  share_in_place(plan);
  place(plan, threads);
}

}  // namespace cohort
