// MXNet's checkpoint pair: PREFIX-symbol.json and PREFIX-%04d.params.
#pragma once

#include <string>

#include "runtime/symbol/symbol.hpp"
#include "runtime/train/module.hpp"

namespace cohort {

// "PREFIX-0003.params"; the number counts finished epochs.
std::string params_path(const std::string& prefix, int epoch);
std::string symbol_path(const std::string& prefix);

// Both files are written whole or not at all. Throws Error(io).
void save_checkpoint(const std::string& prefix, int epoch, const Symbol& symbol, const ParameterMap& parameters);

// The parameters ("arg:" names). Throws Error(usage) when a file is missing or malformed, or when the stored network is
// not `symbol`.
ParameterMap load_checkpoint(Context& context, const std::string& prefix, int epoch, const Symbol& symbol);

// Throws Error(usage) when no file can be made beside `prefix`. Leaves nothing behind.
void require_writable(const std::string& prefix, const std::string& flag);

// The whole of a text file. Throws Error(usage) with the path and the system's words.
std::string read_text_file(const std::string& path);

}  // namespace cohort
