#include "kernels/base/dtype.hpp"

#include <array>
#include <utility>

namespace cohort {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 8> names{{
    {DType::f32, "float32"},
    {DType::f64, "float64"},
    {DType::f16, "float16"},
    {DType::u8, "uint8"},
    {DType::i32, "int32"},
    {DType::i8, "int8"},
    {DType::i64, "int64"},
    {DType::bf16, "bfloat16"},
}};

}  // namespace

std::string_view to_string(DType dtype) {
  for (const auto& [value, name] : names)
    if (value == dtype) return name;
  return "unknown";
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const auto& [value, known] : names)
    if (known == name) return value;
  return std::nullopt;
}

std::optional<DType> dtype_from_code(std::int32_t code) {
  for (const auto& [value, name] : names)
    if (static_cast<std::int32_t>(value) == code) return value;
  return std::nullopt;
}

}  // namespace cohort
