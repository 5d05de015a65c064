// Random numbers: the published answers of the generator, and the documented formulas on top of it.
#include "kernels/base/random.hpp"

#include <cmath>
#include <set>

#include "kernels/base/error.hpp"
#include "test/support/catch.hpp"

using cohort::philox;
using cohort::RandomStream;
using Words = std::array<std::uint32_t, 4>;

TEST_CASE("philox 4x32-10 gives the answers published with Random123") {
  constexpr std::uint32_t ones = 0xffffffff;
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a stream's words follow from seed, purpose, index and counters as documented") {
  const RandomStream stream(0x100000002, "a", 0x300000004);
  // FNV-1a of "a" is published as 0xaf63dc4c8601ec8c.
  const Words key = philox({2, 1, 4, 3}, {0x8601ec8c, 0xaf63dc4c});
  CHECK(stream.words(0x500000006, 0x700000008) == philox({6, 5, 8, 7}, {key[0], key[1]}));
}

TEST_CASE("uniform, normal and below are the documented functions of the words") {
  const RandomStream stream(7, "numbers");
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Words w = stream.words(i, 3);
    CHECK(stream.uniform(i, 3) == static_cast<float>(w[0] >> 8) / 16777216.0f);
    const double angle = 2 * M_PI * (w[1] / 4294967296.0);
    CHECK(stream.normal(i, 3) ==
          static_cast<float>(std::sqrt(-2 * std::log((w[0] + 1.0) / 4294967296.0)) * std::cos(angle)));
    CHECK(stream.below(std::uint64_t{1} << 32, i, 3) == w[1]);
    CHECK(stream.below(1024, i, 3) == w[1] >> 22);
    CHECK(stream.below(1, i, 3) == 0);
  }
  CHECK_THROWS_AS(stream.below(0, 0), cohort::Error);
  CHECK_THROWS_AS(stream.below((std::uint64_t{1} << 32) + 1, 0), cohort::Error);
}

TEST_CASE("below carries the low word into the high one") {
  // floor(x * (2^32 - 1) / 2^64) is the high word where the low one is larger, else one less:
  // x / 2^32 - x / 2^64 = high + (low - high) / 2^32 - low / 2^64.
  const RandomStream stream(1, "carry");
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Words w = stream.words(i);
    CHECK(stream.below(0xffffffff, i) == (w[0] > w[1] ? w[1] : w[1] - 1));
  }
}

TEST_CASE("uniform numbers fill [0, 1), and below hits every value equally often") {
  const RandomStream stream(1, "spread");
  constexpr int n = 100'000;
  double sum = 0;
  std::array<int, 10> hits{};
  for (std::uint64_t i = 0; i < n; ++i) {
    const float u = stream.uniform(i);
    REQUIRE((u >= 0 && u < 1));
    sum += static_cast<double>(u);
    ++hits[stream.below(10, i, 1)];
  }
  // Four standard errors: sqrt(1/12/n) of the mean, sqrt(n * 0.09) of a count.
  CHECK(std::abs(sum / n - 0.5) < 4 * std::sqrt(1.0 / 12 / n));
  for (const int count : hits) CHECK(std::abs(count - n / 10) < 4 * std::sqrt(n * 0.09));
}

TEST_CASE("streams differ by seed, purpose and index, numbers by both counters") {
  std::set<Words> seen;
  for (const std::uint64_t seed : {0, 1})
    for (const char* purpose : {"", "a", "b"})
      for (const std::uint64_t index : {0, 1})
        for (const std::uint64_t counter : {0, 1})
          for (const std::uint64_t sub : {0, 1}) seen.insert(RandomStream(seed, purpose, index).words(counter, sub));
  CHECK(seen.size() == 48);
}
