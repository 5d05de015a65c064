#include "runtime/kvstore/arena.hpp"

#include <algorithm>

namespace cohort {
namespace {

constexpr int flag_kinds = 3;
constexpr std::size_t line = 64;  // bytes

// One answer for the whole job, so that every rank goes the same way.
bool all_agree(World& world, bool mine) {
  std::int32_t answer = mine ? 1 : 0;
  world.all().allreduce(view_of(&answer, 1), ReduceOp::min, "room for the store's memory");
  return answer == 1;
}

}  // namespace

std::shared_ptr<Arena> Arena::allocate(World& world, const Group& group, KeyLayout layout) {
  std::shared_ptr<Arena> arena(new Arena(group, std::move(layout)));
  auto segment = NodeSegment::allocate(world, arena->part_bytes(), "weights and gradients");
  if (!all_agree(world, segment != nullptr)) {
    if (segment) segment->close();
    return nullptr;
  }
  std::vector<std::byte*> parts;
  parts.reserve(static_cast<std::size_t>(group.local_size()));
  for (int rank = 0; rank < group.local_size(); ++rank) parts.push_back(segment->part(rank));
  arena->kind_ = segment->kind();
  arena->segment_ = std::move(segment);
  arena->place(parts);
  return arena;
}

std::shared_ptr<Arena> Arena::allocate_private(const Group& group, KeyLayout layout) {
  std::shared_ptr<Arena> arena(new Arena(group, std::move(layout)));
  arena->memory_ = Buffer::allocate(arena->part_bytes());
  arena->place({static_cast<std::byte*>(arena->memory_->data())});
  return arena;
}

// One kind of flag of one rank: whole cache lines, so that ranks do not share any.
std::size_t Arena::flag_bytes() const {
  return (static_cast<std::size_t>(layout_.keys()) * sizeof(std::uint64_t) + line - 1) / line * line;
}

// A part is flags and gradients; the first one ends with the weights.
std::size_t Arena::part_bytes() const {
  return flag_kinds * flag_bytes() + array_bytes() * (group_.local_rank == 0 ? 2 : 1);
}

void Arena::place(const std::vector<std::byte*>& parts) {
  for (std::byte* part : parts) {
    flags_.push_back(reinterpret_cast<std::uint64_t*>(part));
    gradients_.push_back(reinterpret_cast<float*>(part + flag_kinds * flag_bytes()));
  }
  weights_ = gradients_[0] + layout_.elements();
  // MPI promises nothing about fresh window memory. Everybody's flags are down before the barrier that follows.
  std::fill_n(flags_[static_cast<std::size_t>(group_.local_rank)], flag_kinds * flag_bytes() / sizeof(std::uint64_t),
              0);
  // Pages lie where they are touched first: gradients at the rank that fills them, weights at their owner.
  std::fill_n(own_gradients(), layout_.elements(), 0.0f);
  for (int key = 0; key < layout_.keys(); ++key)
    for (const Piece& piece : layout_.pieces(key))
      if (piece.owner == group_.local_rank) std::fill(weights_ + piece.begin, weights_ + piece.end, 0.0f);
}

std::atomic_ref<std::uint64_t> Arena::flag(int local_rank, int kind, int key) const {
  const std::size_t per_kind = flag_bytes() / sizeof(std::uint64_t);
  return std::atomic_ref<std::uint64_t>(flags_[static_cast<std::size_t>(
      local_rank)][static_cast<std::size_t>(kind) * per_kind + static_cast<std::size_t>(key)]);
}

bool Arena::allocate_sums(World& world) {
  if (sums_) return true;
  if (!segment_) {
    sums_memory_ = Buffer::allocate(array_bytes());
    sums_ = static_cast<float*>(sums_memory_->data());
    return true;
  }
  auto segment = NodeSegment::allocate(world, group_.local_rank == 0 ? array_bytes() : 0, "sums of gradients");
  if (!all_agree(world, segment != nullptr)) {
    if (segment) segment->close();
    return false;
  }
  sums_segment_ = std::move(segment);
  sums_ = reinterpret_cast<float*>(sums_segment_->part(0));
  return true;
}

std::int64_t Arena::reserve_state(std::int64_t elements) {
  const std::int64_t offset = state_elements_;
  state_elements_ += (elements + 15) / 16 * 16;
  return offset;
}

void Arena::set_state_count(int count) {
  states_.clear();
  for (int state = 0; state < count; ++state)
    states_.push_back(Buffer::allocate(static_cast<std::size_t>(state_elements_) * sizeof(float)));
}

void Arena::close() {
  if (sums_segment_) sums_segment_->close();
  if (segment_) segment_->close();
  sums_segment_.reset();
  segment_.reset();
  weights_ = sums_ = nullptr;
}

}  // namespace cohort
