#include "kernels/base/version.hpp"

#include <fmt/format.h>

namespace cohort {

std::string version_text() {
#if defined(__clang__)
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  return fmt::format("cohort {} ({})", COHORT_VERSION, compiler);
}

}  // namespace cohort
