#include "runtime/train/parameter_hash.hpp"

#include <cstring>

namespace cohort {
namespace {

// FNV-1a over 64-bit words, the rest byte by byte, with a final mix.
class Hash {
 public:
  void add(const void* data, std::size_t bytes) {
    const auto* at = static_cast<const unsigned char*>(data);
    for (; bytes >= sizeof(std::uint64_t); bytes -= sizeof(std::uint64_t), at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, sizeof word);
      mix(word);
    }
    for (; bytes > 0; --bytes, ++at) mix(*at);
  }
  std::uint64_t value() const {
    const std::uint64_t folded = (state_ ^ (state_ >> 32)) * prime;
    return folded ^ (folded >> 29);
  }

 private:
  static constexpr std::uint64_t prime = 0x100000001b3;
  void mix(std::uint64_t word) {
    state_ = (state_ ^ word) * prime;
    state_ ^= state_ >> 47;
  }
  std::uint64_t state_ = 0xcbf29ce484222325;
};

}  // namespace

std::uint64_t hash_parameters(const ParameterMap& parameters) {
  Hash hash;
  for (const auto& [name, array] : parameters) {
    hash.add(name.data(), name.size());
    hash.add(array.data(), static_cast<std::size_t>(array.count()) * sizeof(float));
  }
  return hash.value();
}

}  // namespace cohort
