// MXNet's NDArray list files (.params): V0 to V3 read, V2 written.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/ndarray/ndarray.hpp"

namespace cohort {

// In file order; names are empty for an unnamed list. "none" arrays load as NDArray::none().
using NamedArrays = std::vector<std::pair<std::string, NDArray>>;

// Throws Error(usage) with the file, the place in it and what is wrong; checks every size against the file's.
NamedArrays load_arrays(Context& context, const std::string& path);

// Writes the 1.x form through a temporary file in the same directory and renames it: a failure (a full disk) leaves no
// file under `path`. Throws Error(io).
void save_arrays(const std::string& path, const NamedArrays& arrays);

}  // namespace cohort
