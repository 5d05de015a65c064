// Counter-based random numbers (Random123 Philox 4x32-10): a value is a function of what it is for, not of when or
// where it is drawn, so it is the same on any number of ranks and threads and on any device.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cohort {

// A family of numbers: the seed, what they are for, and an index (epoch, step, parameter). Counters address numbers
// inside the family. Copies.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t index = 0);

  // Four independent 32-bit words for one counter pair.
  std::array<std::uint32_t, 4> words(std::uint64_t counter, std::uint64_t sub = 0) const;

  // Uniform in [0, 1), with 24 random bits.
  float uniform(std::uint64_t counter, std::uint64_t sub = 0) const;
  // Standard normal (Box-Muller over the first two words, in double precision).
  float normal(std::uint64_t counter, std::uint64_t sub = 0) const;
  // Uniform in [0, bound), unbiased enough for bound < 2^32: the high half of a 64-bit product.
  std::uint64_t below(std::uint64_t bound, std::uint64_t counter, std::uint64_t sub = 0) const;

 private:
  std::array<std::uint32_t, 2> key_{};
  std::uint64_t index_ = 0;
};

}  // namespace cohort
