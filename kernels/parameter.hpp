// A parameter as kernels see it: values and the version that packed copies are keyed by.
#pragma once

#include <cstdint>

namespace cohort {

// A kernel that keeps a packed copy of `data` renews it when `version` (or the address) differs from the copy's.
struct Parameter {
  const float* data = nullptr;
  std::uint64_t version = 0;
};

}  // namespace cohort
