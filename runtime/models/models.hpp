// The table of built-in networks.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/base/shape.hpp"
#include "runtime/symbol/symbol.hpp"

namespace cohort {

struct ModelOptions {
  std::int64_t num_classes = 10;
  Shape image_shape{1, 28, 28};  // channels, height, width
  int num_layers = 0;            // 0: the network's default
};

struct ModelRow {
  std::string_view name;
  std::string_view summary;
  Symbol (*build)(const ModelOptions& options);
};
std::span<const ModelRow> model_table();

// Throws Error(usage) listing the table.
Symbol build_model(std::string_view name, const ModelOptions& options);

}  // namespace cohort
