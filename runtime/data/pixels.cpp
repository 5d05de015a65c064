#include "runtime/data/pixels.hpp"

#include "kernels/base/error.hpp"

namespace cohort {

void scale_bytes(std::span<const std::uint8_t> bytes, float scale, std::span<float> values) {
  COHORT_CHECK(bytes.size() == values.size(), "a sample of {} values read into {}", bytes.size(), values.size());
  const std::uint8_t* __restrict from = bytes.data();
  float* __restrict to = values.data();
  for (std::size_t i = 0; i < bytes.size(); ++i) to[i] = static_cast<float>(from[i]) * scale;
}

void prefetch_bytes(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t line = 64;
  for (std::size_t i = 0; i < bytes.size(); i += line) __builtin_prefetch(bytes.data() + i);
}

}  // namespace cohort
