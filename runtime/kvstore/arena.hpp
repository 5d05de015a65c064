// The memory of one init call: weights, gradients, optimizer state and the flags that say who may touch what.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/node_segment.hpp"
#include "kernels/base/buffer.hpp"
#include "runtime/kvstore/group.hpp"
#include "runtime/kvstore/key_layout.hpp"

namespace cohort {

// Every array has the layout's offsets. Weights (and sums) exist once per group, gradients once per rank; a rank writes
// its own gradients and, between "all ready" and "done", its own slices of the weights. Neither copies nor moves.
class Arena {
 public:
  // Collective over the world: tries memory shared by the node when `group` is shared. Returns null on every rank when
  // any node lacks the room.
  static std::shared_ptr<Arena> allocate(World& world, const Group& group, KeyLayout layout);
  // Local: memory of this rank alone, for a group of one.
  static std::shared_ptr<Arena> allocate_private(const Group& group, KeyLayout layout);

  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  const Group& group() const { return group_; }
  const KeyLayout& layout() const { return layout_; }
  float* weights() const { return weights_; }
  // By rank of the group.
  const std::vector<float*>& gradients() const { return gradients_; }
  float* own_gradients() const { return gradients_[static_cast<std::size_t>(group_.local_rank)]; }
  // Sums over all ranks, for updater functions; null before allocate_sums.
  float* sums() const { return sums_; }
  // Collective over the world (private arenas: local). False on every rank when a node lacks the room.
  bool allocate_sums(World& world);

  // Optimizer state of the slices this rank updates, packed: `reserve_state` gives such a slice its place, before
  // set_state_count, which makes `count` zeroed arrays. Local: nobody else touches them.
  std::int64_t reserve_state(std::int64_t elements);
  void set_state_count(int count);
  const std::vector<std::shared_ptr<Buffer>>& states() const { return states_; }

  // Rounds a rank of the group has reached with a key: it has pushed; its slices are up to date; the updater function
  // has run. Written by that rank alone (applied: rank 0 of the group).
  std::atomic_ref<std::uint64_t> ready(int local_rank, int key) const { return flag(local_rank, 0, key); }
  std::atomic_ref<std::uint64_t> done(int local_rank, int key) const { return flag(local_rank, 1, key); }
  std::atomic_ref<std::uint64_t> applied(int key) const { return flag(0, 2, key); }

  // "private", "mpi window", ...
  const std::string& kind() const { return kind_; }
  // Collective over the node: releases the memory.
  void close();

 private:
  Arena(const Group& group, KeyLayout layout) : group_(group), layout_(std::move(layout)) {}
  std::size_t flag_bytes() const;
  std::size_t array_bytes() const { return static_cast<std::size_t>(layout_.elements()) * sizeof(float); }
  std::size_t part_bytes() const;
  void place(const std::vector<std::byte*>& parts);
  std::atomic_ref<std::uint64_t> flag(int local_rank, int kind, int key) const;

  const Group& group_;
  KeyLayout layout_;
  std::unique_ptr<NodeSegment> segment_, sums_segment_;
  std::shared_ptr<Buffer> memory_, sums_memory_;
  std::int64_t state_elements_ = 0;
  std::vector<std::shared_ptr<Buffer>> states_;
  std::vector<std::uint64_t*> flags_;
  std::vector<float*> gradients_;
  float* weights_ = nullptr;
  float* sums_ = nullptr;
  std::string kind_ = "private";
};

}  // namespace cohort
