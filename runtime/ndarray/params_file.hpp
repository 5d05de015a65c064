// MXNet's NDArray list files (.params): V0 to V3 read, V2 written.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/ndarray/ndarray.hpp"

namespace cohort {

// In file order; names are empty for an unnamed list. An array without memory stands for a "none" in the file.
using NamedArrays = std::vector<std::pair<std::string, NDArray>>;

// Arrays are placed on cpu(0), whatever device the file names; a scalar (V3) loads with shape (1,). Throws Error(usage)
// with the file, the array or place in it and what is wrong, also for what cannot be held yet: sparse arrays and the
// types bool, int16, uint16, uint32, uint64. No size is believed that exceeds the file's.
NamedArrays load_arrays(Context& context, const std::string& path);

// Writes V2 arrays through a temporary file in the same directory and renames it: a failure (a full disk) leaves no
// file under `path`. Waits for the arrays. A list whose names are all empty is written without names. Throws Error(io).
void save_arrays(const std::string& path, const NamedArrays& arrays);

}  // namespace cohort
