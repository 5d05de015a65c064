#include "runtime/kvstore/key_layout.hpp"

#include <algorithm>

namespace cohort {
namespace {

constexpr std::int64_t alignment = 16;  // elements: one cache line of float32
constexpr std::int64_t bucket_floor = (std::int64_t{1} << 20) / 4;
constexpr std::int64_t bucket_ceiling = (std::int64_t{4} << 20) / 4;

std::int64_t aligned(std::int64_t count) { return (count + alignment - 1) / alignment * alignment; }

}  // namespace

std::int64_t aligned_cut(std::int64_t begin, std::int64_t end, int part, int parts) {
  if (part == parts) return end;
  return begin + (end - begin + alignment - 1) / alignment * part / parts * alignment;
}

KeyLayout::KeyLayout(std::span<const std::int64_t> counts, int owners) : pieces_(counts.size()) {
  offsets_.push_back(0);
  for (const std::int64_t count : counts) offsets_.push_back(offsets_.back() + aligned(count));

  std::size_t key = 0;
  const std::vector<std::int64_t> cuts = bucket_cuts();
  for (std::size_t bucket = 1; bucket < cuts.size(); ++bucket)
    for (int owner = 0; owner < owners; ++owner) {
      const std::int64_t begin = aligned_cut(cuts[bucket - 1], cuts[bucket], owner, owners);
      const std::int64_t end = aligned_cut(cuts[bucket - 1], cuts[bucket], owner + 1, owners);
      // Slices ascend, and so do keys: each slice goes on with the key in which the one before it has ended.
      for (; key < counts.size() && offsets_[key] < end; ++key) {
        const std::int64_t key_end = offsets_[key] + counts[key];
        const Piece piece{std::max(begin, offsets_[key]), std::min(end, key_end), owner};
        if (piece.begin < piece.end) pieces_[key].push_back(piece);
        if (offsets_[key + 1] > end) break;
      }
    }
}

std::vector<std::int64_t> KeyLayout::bucket_cuts() const {
  std::vector<std::int64_t> cuts{0};
  const auto close = [&](std::int64_t end) {
    const std::int64_t begin = cuts.back();
    const auto parts = static_cast<int>((end - begin + bucket_ceiling - 1) / bucket_ceiling);
    for (int part = 1; part <= parts; ++part) cuts.push_back(aligned_cut(begin, end, part, parts));
  };
  for (std::size_t key = 1; key < offsets_.size(); ++key)
    if (offsets_[key] - cuts.back() >= bucket_floor) close(offsets_[key]);
  const std::int64_t end = offsets_.back();
  if (cuts.back() == end) return cuts;
  // What is left is small: it joins the last bucket where that has room.
  if (cuts.size() > 1 && end - cuts[cuts.size() - 2] <= bucket_ceiling) cuts.pop_back();
  cuts.push_back(end);
  return cuts;
}

}  // namespace cohort
