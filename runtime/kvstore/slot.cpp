#include <algorithm>

#include "runtime/kvstore/rounds.hpp"

namespace cohort {
namespace {

constexpr int largest_tag = 32766;  // the tag above is the reports'

// An array of the store's memory. Every one has a buffer of its own, so that events and versions are per key.
NDArray array_at(Context& context, float* data, const Shape& shape, const std::shared_ptr<Arena>& arena) {
  const std::size_t bytes = static_cast<std::size_t>(shape.count()) * sizeof(float);
  return NDArray::wrap(context, Buffer::wrap(data, bytes, arena), 0, shape);
}

}  // namespace

Slot::Slot(Context& context, Rounds& rounds, const Key& slot_key, const Shape& slot_shape,
           const std::shared_ptr<Arena>& slot_arena, int index_in_arena)
    : key(slot_key),
      name(slot_key.text()),
      shape(slot_shape),
      count(slot_shape.count()),
      arena(slot_arena),
      index(index_in_arena),
      offset(slot_arena->layout().offset(index_in_arena)),
      gradient(array_at(context, gradient_data(), shape, arena)),
      weight(array_at(context, arena->weights() + offset, shape, arena)),
      clock(std::make_shared<RoundClock>()) {
  clock->rounds = &rounds;
}

void Slot::place_pieces(Group& group) {
  for (const Piece& piece : arena->layout().pieces(index)) {
    if (owners.empty() || owners.back() != piece.owner) owners.push_back(piece.owner);
    if (piece.owner != group.local_rank) continue;
    OwnPiece own{piece, 0, nullptr};
    std::int64_t updated = piece.end - piece.begin;
    if (group.rail) {
      COHORT_CHECK(group.next_tag + 1 <= largest_tag, "key '{}': more than {} pieces of keys between nodes", name,
                   largest_tag / 2);
      own.exchange = std::make_unique<Exchange>(group, piece, group.next_tag, "key '" + name + "'");
      group.next_tag += 2;
      updated = own.exchange->end() - own.exchange->begin();
    }
    own.state_offset = arena->reserve_state(updated);
    pieces.push_back(std::move(own));
  }
  std::sort(owners.begin(), owners.end());
  owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
}

}  // namespace cohort
