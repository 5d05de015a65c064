#include "kernels/base/shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cohort {

std::string to_string(const Shape& shape) {
  if (shape.rank() == 1) return fmt::format("({},)", shape[0]);
  return fmt::format("({})", fmt::join(shape.extents(), ", "));
}

}  // namespace cohort
