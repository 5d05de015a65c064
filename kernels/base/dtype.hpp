// Element types. The numbers are those of MXNet's files (model-file codes), so that reading and writing need no map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cohort {

enum class DType : std::int32_t {
  f32 = 0,
  f64 = 1,
  f16 = 2,
  u8 = 3,
  i32 = 4,
  i8 = 5,
  i64 = 6,
  bf16 = 12,
};

// Bytes of one element.
constexpr std::size_t dtype_bytes(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64: return 8;
    case DType::f32:
    case DType::i32: return 4;
    case DType::f16:
    case DType::bf16: return 2;
    case DType::u8:
    case DType::i8: return 1;
  }
  return 0;
}

// MXNet's names: float32, float64, float16, uint8, int32, int8, int64, bfloat16.
std::string_view to_string(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);
std::optional<DType> dtype_from_code(std::int32_t code);

template <class T>
struct dtype_of;
template <>
struct dtype_of<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_of<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct dtype_of<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct dtype_of<std::int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct dtype_of<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct dtype_of<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <class T>
inline constexpr DType dtype_v = dtype_of<T>::value;

}  // namespace cohort
