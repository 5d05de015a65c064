// Data for kernel tests: small integers, so that sums and products are exact in float32 in any order.
#pragma once

#include <cstdint>
#include <vector>

namespace cohort::test {

// Deterministic integers in [-3, 3]; different seeds give different sequences.
inline std::vector<float> integers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint32_t state = seed * 2654435761u + 12345u;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(state >> 24) % 7 - 3);
  }
  return values;
}

// Deterministic reals, evenly spread in [-scale, scale].
inline std::vector<float> reals(std::int64_t count, std::uint32_t seed, float scale = 1) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint32_t state = seed * 2654435761u + 12345u;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = scale * (static_cast<float>(state >> 8) / 8388608.0f - 1.0f);
  }
  return values;
}

}  // namespace cohort::test
