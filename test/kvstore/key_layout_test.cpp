// Where keys lie and who owns what: every element once, in aligned and balanced slices.
#include "runtime/kvstore/key_layout.hpp"

#include <algorithm>

#include "test/support/catch.hpp"

namespace cohort::test {

namespace {

const std::vector<std::vector<std::int64_t>> models = {
    {1},
    {1, 15, 16, 17, 1023},
    {5010, 10, 400'000, 500, 25'000, 50, 500, 20},  // a small network: one bucket
    {1'000'003},
    {10'000'000, 3, 262'144, 1, 1'048'577, 20},
    {7, 138'000'000, 9},
};

}  // namespace

TEST_CASE("key layout, pieces cover every key once, in ascending order") {
  for (const auto& counts : models)
    for (const int owners : {1, 2, 3, 8, 40}) {
      const KeyLayout layout(counts, owners);
      REQUIRE(layout.keys() == static_cast<int>(counts.size()));
      std::int64_t end = 0;
      for (int key = 0; key < layout.keys(); ++key) {
        REQUIRE(layout.offset(key) % 16 == 0);
        REQUIRE(layout.offset(key) >= end);
        end = layout.offset(key);
        for (const Piece& piece : layout.pieces(key)) {
          REQUIRE(piece.begin == end);
          REQUIRE(piece.end > piece.begin);
          REQUIRE(piece.begin % 16 == 0);
          REQUIRE((piece.owner >= 0 && piece.owner < owners));
          end = piece.end;
        }
        REQUIRE(end == layout.offset(key) + counts[static_cast<std::size_t>(key)]);
      }
      REQUIRE(layout.elements() >= end);
      REQUIRE(layout.elements() % 16 == 0);
    }
}

TEST_CASE("key layout, owners have equal shares and pieces stay under 4 MB") {
  for (const auto& counts : models)
    for (const int owners : {1, 2, 3, 8}) {
      const KeyLayout layout(counts, owners);
      std::vector<std::int64_t> share(static_cast<std::size_t>(owners), 0);
      std::int64_t pieces = 0;
      for (int key = 0; key < layout.keys(); ++key)
        for (const Piece& piece : layout.pieces(key)) {
          share[static_cast<std::size_t>(piece.owner)] += piece.end - piece.begin;
          REQUIRE(piece.end - piece.begin <= 1 << 20);
          ++pieces;
        }
      const auto [least, most] = std::minmax_element(share.begin(), share.end());
      // A bucket's shares differ by one line of 16, and by what pads its keys.
      REQUIRE(*most - *least <= 32 * pieces);
    }
}

TEST_CASE("key layout, a small network is one bucket with one slice for each owner") {
  const KeyLayout layout(models[2], 2);
  std::vector<int> owners;
  for (int key = 0; key < layout.keys(); ++key)
    for (const Piece& piece : layout.pieces(key))
      if (owners.empty() || owners.back() != piece.owner) owners.push_back(piece.owner);
  REQUIRE(owners == std::vector<int>{0, 1});
}

TEST_CASE("key layout, cuts are aligned and cover the range") {
  for (const std::int64_t length : {0, 1, 16, 17, 100, 1000})
    for (const int parts : {1, 2, 3, 7}) {
      REQUIRE(aligned_cut(32, 32 + length, 0, parts) == 32);
      REQUIRE(aligned_cut(32, 32 + length, parts, parts) == 32 + length);
      for (int part = 0; part < parts; ++part) {
        REQUIRE(aligned_cut(32, 32 + length, part, parts) <= aligned_cut(32, 32 + length, part + 1, parts));
        REQUIRE(aligned_cut(32, 32 + length, part, parts) % 16 == 0);
      }
    }
}

}  // namespace cohort::test
