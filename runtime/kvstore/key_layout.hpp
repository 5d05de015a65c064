// Where the keys of one init call lie in memory, and which rank of a node owns which part of them. Pure arithmetic, the
// same on every rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cohort {

// Elements [begin, end) of the arena: a part of one key that one owner updates.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int owner = 0;
};

// Keys lie one after the other, each from a multiple of 16 elements on. Buckets are ranges of keys of at least 1 MB,
// cut at 4 MB; owner i owns the i-th of `owners` equal slices of every bucket, cut at multiples of 16 elements. Copies.
class KeyLayout {
 public:
  KeyLayout(std::span<const std::int64_t> counts, int owners);

  // Of the whole arena, a multiple of 16.
  std::int64_t elements() const { return offsets_.back(); }
  std::int64_t offset(int key) const { return offsets_[static_cast<std::size_t>(key)]; }
  int keys() const { return static_cast<int>(offsets_.size()) - 1; }
  // In ascending order; together they cover the key.
  std::span<const Piece> pieces(int key) const { return pieces_[static_cast<std::size_t>(key)]; }

 private:
  std::vector<std::int64_t> bucket_cuts() const;

  std::vector<std::int64_t> offsets_;  // of each key, then the end
  std::vector<std::vector<Piece>> pieces_;
};

// The i-th of `parts` nearly equal parts of [begin, end) begins here; begin is a multiple of 16, and so is every cut.
std::int64_t aligned_cut(std::int64_t begin, std::int64_t end, int part, int parts);

}  // namespace cohort
