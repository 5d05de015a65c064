// Counter-based random numbers (Random123 Philox 4x32-10): a value is a function of what it is for, not of when or
// where it is drawn, so it is the same on any number of ranks and threads and on any device.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cohort {

// The generator itself: four words from a 128-bit counter and a 64-bit key, as published (known answers exist).
std::array<std::uint32_t, 4> philox(const std::array<std::uint32_t, 4>& counter,
                                    const std::array<std::uint32_t, 2>& key);

// A family of numbers: the seed, what they are for, and an index (epoch, step, parameter). Counters address numbers
// inside the family. Copies.
//
// Results are part of the contract, since any device must reproduce them (low word first wherever 64 bits are split):
//   key     = first two words of philox(counter {seed, index}, key {FNV-1a 64 of `purpose`})
//   words   = philox(counter {counter, sub}, key)
//   uniform = (words[0] >> 8) * 2^-24
//   normal  = sqrt(-2 ln((words[0] + 1) * 2^-32)) * cos(2 pi words[1] * 2^-32), in double, rounded to float
//   below   = floor(x * bound / 2^64) with x = words[0] + 2^32 words[1]
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t index = 0);

  // Four independent 32-bit words for one counter pair.
  std::array<std::uint32_t, 4> words(std::uint64_t counter, std::uint64_t sub = 0) const;

  // Uniform in [0, 1), with 24 random bits.
  float uniform(std::uint64_t counter, std::uint64_t sub = 0) const;
  // Standard normal.
  float normal(std::uint64_t counter, std::uint64_t sub = 0) const;
  // Uniform in [0, bound), for 1 <= bound <= 2^32; values differ in probability by 2^-32 of it at most.
  std::uint64_t below(std::uint64_t bound, std::uint64_t counter, std::uint64_t sub = 0) const;

 private:
  std::array<std::uint32_t, 2> key_{};
};

}  // namespace cohort
