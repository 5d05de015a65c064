#include "runtime/ndarray/convert.hpp"

#include <algorithm>
#include <cstring>

namespace cohort {
namespace {

// Calls `use` with a null pointer to the element type's C++ type.
template <class Use>
void with_type(DType dtype, Use use) {
  switch (dtype) {
    case DType::f32: return use(static_cast<float*>(nullptr));
    case DType::f64: return use(static_cast<double*>(nullptr));
    case DType::u8: return use(static_cast<std::uint8_t*>(nullptr));
    case DType::i8: return use(static_cast<std::int8_t*>(nullptr));
    case DType::i32: return use(static_cast<std::int32_t*>(nullptr));
    case DType::i64: return use(static_cast<std::int64_t*>(nullptr));
    case DType::f16:
    case DType::bf16: COHORT_FAIL(check, "{} cannot be converted", to_string(dtype));
  }
}

bool half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

}  // namespace

void check_convertible(DType from, DType to) {
  COHORT_CHECK(from == to || !(half(from) || half(to)), "{} cannot be converted to {}", to_string(from), to_string(to));
}

void convert_elements(ConstView from, View to) {
  COHORT_CHECK(from.count == to.count, "{} elements do not fit {}", from.count, to.count);
  check_convertible(from.dtype, to.dtype);
  if (from.dtype == to.dtype) {
    if (from.count > 0) std::memmove(to.data, from.data, from.bytes());
    return;
  }
  with_type(from.dtype, [&]<class From>(From*) {
    with_type(to.dtype, [&]<class To>(To*) {
      const auto* source = static_cast<const From*>(from.data);
      std::transform(source, source + from.count, static_cast<To*>(to.data),
                     [](From value) { return static_cast<To>(value); });
    });
  });
}

}  // namespace cohort
