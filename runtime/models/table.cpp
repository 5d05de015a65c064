#include <fmt/ranges.h>

#include <vector>

#include "kernels/base/error.hpp"
#include "runtime/models/builders.hpp"

namespace cohort {
namespace {

constexpr ModelRow table[] = {
    {"lenet", "two 5x5 convolutions with tanh and pooling, two fully connected layers", models::lenet},
    {"mlp", "fully connected 128, 64, classes", models::mlp},
};

}  // namespace

std::span<const ModelRow> model_table() { return table; }

Symbol build_model(std::string_view name, const ModelOptions& options) {
  std::vector<std::string_view> names;
  for (const ModelRow& row : table) {
    if (row.name == name) {
      if (options.num_layers != 0)
        throw_usage("--num-layers {}: network {} has a fixed depth, leave the flag out", options.num_layers, name);
      return row.build(options);
    }
    names.push_back(row.name);
  }
  throw_usage("there is no network '{}'; use one of {}", name, fmt::join(names, ", "));
}

}  // namespace cohort
