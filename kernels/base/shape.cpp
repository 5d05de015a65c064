#include "kernels/base/shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

namespace cohort {

std::int64_t Shape::count() const {
  if (extents_.empty()) return 0;
  std::int64_t product = 1;
  bool fits = true;
  for (const std::int64_t extent : extents_) {
    if (extent == 0) return 0;
    fits = fits && !__builtin_mul_overflow(product, extent, &product);
  }
  return fits ? product : std::numeric_limits<std::int64_t>::max();
}

std::string to_string(const Shape& shape) {
  if (shape.rank() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape.extents(), ", "));
}

}  // namespace cohort
