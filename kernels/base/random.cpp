#include "kernels/base/random.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

#include "kernels/base/error.hpp"

namespace cohort {
namespace {

constexpr std::uint32_t low(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t high(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

std::array<std::uint32_t, 4> philox(const std::array<std::uint32_t, 4>& counter,
                                    const std::array<std::uint32_t, 2>& key) {
  using Generator = r123::Philox4x32_R<10>;
  const Generator::ctr_type out =
      Generator()({{counter[0], counter[1], counter[2], counter[3]}}, Generator::key_type{{key[0], key[1]}});
  return {out[0], out[1], out[2], out[3]};
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view purpose, std::uint64_t index) {
  const std::uint64_t hash = fnv1a(purpose);
  const auto out = philox({low(seed), high(seed), low(index), high(index)}, {low(hash), high(hash)});
  key_ = {out[0], out[1]};
}

std::array<std::uint32_t, 4> RandomStream::words(std::uint64_t counter, std::uint64_t sub) const {
  return philox({low(counter), high(counter), low(sub), high(sub)}, key_);
}

float RandomStream::uniform(std::uint64_t counter, std::uint64_t sub) const {
  return static_cast<float>(words(counter, sub)[0] >> 8) * 0x1p-24f;
}

float RandomStream::normal(std::uint64_t counter, std::uint64_t sub) const {
  const auto word = words(counter, sub);
  const double radius = std::sqrt(-2 * std::log((word[0] + 1.0) * 0x1p-32));
  return static_cast<float>(radius * std::cos(2 * std::numbers::pi * (word[1] * 0x1p-32)));
}

std::uint64_t RandomStream::below(std::uint64_t bound, std::uint64_t counter, std::uint64_t sub) const {
  COHORT_CHECK(bound >= 1 && bound <= std::uint64_t{1} << 32, "random numbers below {} cannot be drawn", bound);
  const auto word = words(counter, sub);
  // The high half of a 96-bit product, in two steps of 64 bits.
  return (word[1] * bound + ((word[0] * bound) >> 32)) >> 32;
}

}  // namespace cohort
