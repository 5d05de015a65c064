// What the graph tests share: filling arrays with known values and binding small symbols.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/backend.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/operators/operator.hpp"

namespace cohort::test {

// Quarters between -2 and 2 in a fixed irregular order.
inline std::vector<float> quarters(std::int64_t count, int seed) {
  std::vector<float> values;
  std::uint32_t state = static_cast<std::uint32_t>(seed) * 2654435761U + 12345U;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    values.push_back(static_cast<float>(static_cast<int>((state >> 16) % 17) - 8) / 4.0F);
  }
  return values;
}

inline void set(const Executor& executor, const std::string& name, const std::vector<float>& values) {
  NDArray array = executor.arguments().at(name);
  array.assign(values);
}

// Zeroed arrays for every argument and, but for those named in `without`, every gradient.
inline BindOptions bind_options(const Symbol& symbol, Context& context, const std::map<std::string, Shape>& shapes,
                                const std::vector<std::string>& without = {}) {
  const InferredShapes inferred = symbol.infer_shapes(shapes);
  BindOptions options;
  const std::vector<std::string> names = symbol.list_arguments();
  for (std::size_t i = 0; i < names.size(); ++i) {
    options.arguments.emplace(names[i], NDArray::zeros(context, inferred.arguments[i]));
    if (std::find(without.begin(), without.end(), names[i]) == without.end())
      options.gradients.emplace(names[i], NDArray::zeros(context, inferred.arguments[i]));
  }
  return options;
}

}  // namespace cohort::test
