// One number that tells whether two runs, or two ranks, hold the same weights.
#pragma once

#include <cstdint>

#include "runtime/train/module.hpp"

namespace cohort {

// Over names and values of all parameters, sorted by name; equal exactly when the bits are (but for chance).
std::uint64_t hash_parameters(const ParameterMap& parameters);

}  // namespace cohort
