#include "runtime/operators/rows.hpp"

#include "kernels/base/error.hpp"

namespace cohort::rows {

std::vector<std::string> data_input(const Parameters&) { return {"data"}; }
std::vector<std::string> data_label_inputs(const Parameters&) { return {"data", "label"}; }
std::vector<std::string> lhs_rhs_inputs(const Parameters&) { return {"lhs", "rhs"}; }

void same_shapes(const Parameters&, std::span<Shape> inputs, std::span<Shape> outputs) { unify_all(inputs, outputs); }

std::array<std::int64_t, 2> pair_parameter(const Parameters& parameters, std::string_view owner, std::string_view name,
                                           std::int64_t fallback) {
  const Shape& tuple = parameters.tuple(name);
  if (tuple.empty()) return {fallback, fallback};
  if (tuple.rank() != 2)
    throw_usage("{}: {} is {}, but only two-dimensional ones are available", owner, name, to_string(tuple));
  return {tuple[0], tuple[1]};
}

}  // namespace cohort::rows
