// Transcendental functions as plain arithmetic on one float, so that loops over them vectorise and every instruction
// set gives the same bits. Errors are in units of the last place (ulp) of the exact result; tests hold them.
#pragma once

#include <bit>
#include <cstdint>

namespace cohort::cpu {

// Parts of e^t for t <= 0 (below -87 it is taken as -87): e^t = scale * (1 + rest). NaN goes through `rest`.
struct ExpParts {
  float scale;
  float rest;
};

inline ExpParts exp_parts(float t) {
  constexpr float lowest = -87.0f;
  constexpr float log2_e = 1.44269504f;
  constexpr float ln2_high = 0.693359375f;  // few bits, so that its product with a small integer is exact
  constexpr float ln2_low = -2.12194440e-4f;
  constexpr float round_shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  t = t < lowest ? lowest : t;
  const float shifted = t * log2_e + round_shift;
  const float n = shifted - round_shift;
  const float r = (t - n * ln2_high) - n * ln2_low;
  // (e^r - 1 - r) / r^2 on |r| <= ln(2)/2, interpolated at Chebyshev nodes: 2e-10.
  float p = 1.98911246e-4f;
  p = p * r + 1.39337704e-3f;
  p = p * r + 8.33331080e-3f;
  p = p * r + 4.16664638e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  const std::int32_t exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(round_shift);
  const auto bits = (static_cast<std::uint32_t>(exponent) + 127u) << 23;
  return {std::bit_cast<float>(bits), r + (r * r) * p};
}

// e^t for t <= 0 within 1.5 ulp; below -87 e^-87 (1.6e-38).
inline float exp_of_negative(float t) {
  const ExpParts parts = exp_parts(t);
  return parts.scale + parts.scale * parts.rest;
}

// e^t - 1 for t <= 0.
inline float expm1_of_negative(float t) {
  const ExpParts parts = exp_parts(t);
  return parts.scale * parts.rest + (parts.scale - 1.0f);
}

// log(1 + u) for u in [0, 1].
inline float log1p_of_unit(float u) {
  // log(1+u)/u, interpolated at Chebyshev nodes: 3.4e-8.
  float p = 5.12610214e-3f;
  p = p * u - 2.90740647e-2f;
  p = p * u + 7.75160867e-2f;
  p = p * u - 1.36022476e-1f;
  p = p * u + 1.90768807e-1f;
  p = p * u - 2.48353990e-1f;
  p = p * u + 3.33181217e-1f;
  p = p * u - 4.99994450e-1f;
  p = p * u + 9.99999966e-1f;
  return u * p;
}

inline float absolute(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7fffffffu); }

// |magnitude| with the sign bit of `sign`.
inline float with_sign_of(float magnitude, float sign) {
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(magnitude) & 0x7fffffffu) |
                              (std::bit_cast<std::uint32_t>(sign) & 0x80000000u));
}

}  // namespace cohort::cpu
