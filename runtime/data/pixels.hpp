// Samples of bytes, as image files hold them.
#pragma once

#include <cstdint>
#include <span>

namespace cohort {

// values[i] = bytes[i] * scale. Both have the same length.
void scale_bytes(std::span<const std::uint8_t> bytes, float scale, std::span<float> values);

// Starts loading the cache lines of `bytes`.
void prefetch_bytes(std::span<const std::uint8_t> bytes);

}  // namespace cohort
