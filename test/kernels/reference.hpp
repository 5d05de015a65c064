// Data for kernel tests: small integers, so that sums and products are exact in float32 in any order.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
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

// Where and how `got` first differs from `want`; empty when they are equal. NaN equals nothing.
inline std::string difference(const std::vector<float>& got, const std::vector<float>& want) {
  if (got.size() != want.size()) return fmt::format("{} elements instead of {}", got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    if (!(got[i] == want[i])) return fmt::format("element {} is {} instead of {}", i, got[i], want[i]);
  return {};
}

}  // namespace cohort::test
