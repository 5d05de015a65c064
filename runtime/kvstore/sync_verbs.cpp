// push and pull.
#include <algorithm>
#include <cstring>

#include "runtime/kvstore/sync_store.hpp"
#include "runtime/kvstore/verb.hpp"

namespace cohort {
namespace {

const float* memory_of(const NDArray& array) {
  return reinterpret_cast<const float*>(static_cast<const std::byte*>(array.buffer()->data()) + array.byte_offset());
}

void check_array(const Slot& slot, const NDArray& array) {
  if (array.none()) throw_usage("key '{}' comes with an array that is none", slot.name);
  if (array.dtype() != DType::f32)
    throw_usage("key '{}' is float32, the array given is {}", slot.name, to_string(array.dtype()));
  if (array.shape() != slot.shape)
    throw_usage("key '{}' has shape {}, the array given has {}", slot.name, to_string(slot.shape),
                to_string(array.shape()));
  if (array.device().kind != DeviceKind::cpu)
    throw_usage("key '{}': the array given lies on {}; this store takes arrays of the host", slot.name,
                to_string(array.device()));
}

}  // namespace

// Fills named_, and repeated_: whether a key is named more than once. All is checked before anything is done.
void SyncStore::find_slots(std::span<const Key> keys, std::span<const std::vector<NDArray>> arrays) {
  if (keys.size() != arrays.size()) throw_usage("{} keys, but {} lists of arrays", keys.size(), arrays.size());
  ++mark_;
  named_.clear();
  repeated_ = false;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    Slot& found = slot(keys[i]);
    if (arrays[i].empty()) throw_usage("key '{}' comes with no array", found.name);
    for (const NDArray& array : arrays[i]) check_array(found, array);
    repeated_ = repeated_ || found.mark == mark_;
    found.mark = mark_;
    named_.push_back(&found);
  }
}

void SyncStore::push(std::span<const Key> keys, std::span<const std::vector<NDArray>> values, int) {
  in_verb("push", [&] {
    find_slots(keys, values);
    push_found(values);
  });
}

void SyncStore::pull(std::span<const Key> keys, std::span<const std::vector<NDArray>> outs, int) {
  in_verb("pull", [&] {
    find_slots(keys, outs);
    pull_found(outs);
  });
}

void SyncStore::pushpull(std::span<const Key> keys, std::span<const std::vector<NDArray>> values,
                         std::span<const std::vector<NDArray>> outs, int) {
  in_verb("pushpull", [&] {
    const auto results = outs.empty() ? values : outs;
    find_slots(keys, results);
    find_slots(keys, values);
    push_found(values);
    pull_found(results);
  });
}

// Values of a key that is named several times make one push, in the order in which they are given.
void SyncStore::push_found(std::span<const std::vector<NDArray>> values) {
  if (!repeated_) {
    for (std::size_t i = 0; i < named_.size(); ++i) push_slot(*named_[i], values[i]);
    return;
  }
  for (std::size_t i = 0; i < named_.size(); ++i) {
    const auto here = named_.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(named_.begin(), here, *here) != here) continue;
    std::vector<NDArray> merged;
    for (std::size_t j = i; j < named_.size(); ++j)
      if (named_[j] == *here) merged.insert(merged.end(), values[j].begin(), values[j].end());
    push_slot(**here, merged);
  }
}

void SyncStore::pull_found(std::span<const std::vector<NDArray>> outs) {
  for (std::size_t i = 0; i < named_.size(); ++i)
    for (const NDArray& out : outs[i]) pull_slot(*named_[i], out);
}

void SyncStore::push_slot(Slot& slot, std::span<const NDArray> values) {
  for (const NDArray& value : values) value.wait_to_read();
  post_report();
  const UpdateStep step = optimizer_ ? optimizer_->next_step(slot.name) : UpdateStep{};
  const bool in_place = values.size() == 1 && memory_of(values[0]) == slot.gradient_data();
  if (slot.busy()) {
    QueuedPush queued{nullptr, step};
    if (!in_place) {
      queued.values = Buffer::allocate(slot.bytes());
      sum_values(slot, values, static_cast<float*>(queued.values->data()));
    }
    slot.queue.push_back(std::move(queued));
    ++slot.pushed;
  } else {
    // Work on streams may still read the old weights, or the gradient's memory.
    slot.weight.wait_to_write();
    if (!in_place) {
      slot.gradient.wait_to_write();
      sum_values(slot, values, slot.gradient_data());
      slot.gradient.bump_version();
    }
    ++slot.pushed;
    rounds_->launch(slot, step);
  }
  rounds_->progress();
  if (!slot.busy()) return slot.weight.bump_version();
  // Whoever reads the weights, or writes the gradient, waits for this round.
  const Event end = rounds_->end_of_round(slot);
  slot.weight.buffer()->record_write(end);
  slot.gradient.buffer()->record_read(end);
}

// In the order of the devices, in one pass.
void SyncStore::sum_values(const Slot& slot, std::span<const NDArray> values, float* target) {
  rounds_->count_copy(values.size() * slot.bytes());
  if (values.size() == 1) {
    std::memcpy(target, memory_of(values[0]), slot.bytes());
    return;
  }
  parts_.clear();
  for (const NDArray& value : values) parts_.push_back(memory_of(value));
  if (std::find(parts_.begin(), parts_.end(), target) == parts_.end()) {
    rounds_->assign().run({parts_, target, {}, slot.count}, {});
    return;
  }
  const auto sum = Buffer::allocate(slot.bytes());  // one value is the target itself
  rounds_->assign().run({parts_, static_cast<float*>(sum->data()), {}, slot.count}, {});
  std::memcpy(target, sum->data(), slot.bytes());
}

void SyncStore::pull_slot(Slot& slot, const NDArray& out) {
  if (memory_of(out) == slot.weight_data()) return;
  // What is pending on the array comes first; only this key's own rounds are in order anyway.
  if (out.buffer()->pending())
    for (const Event& event : out.buffer()->before_write()) {
      const auto* const round = dynamic_cast<const RoundEvent*>(event.get());
      if (!round || round->clock() != slot.clock.get()) event->wait();
    }
  if (slot.busy()) {
    slot.pulls.push_back({slot.pushed, out});
    out.buffer()->record_write(rounds_->end_of_round(slot));
    return;
  }
  std::memcpy(out.raw_data(), slot.weight_data(), slot.bytes());
  out.bump_version();
  rounds_->count_copy(slot.bytes());
}

}  // namespace cohort
