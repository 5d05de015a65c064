#include "runtime/operators/operator.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"

namespace cohort {

void OperatorKernel::forward(const ForwardCall&, bool) { COHORT_FAIL(check, "forward of a view was called"); }

void OperatorKernel::backward(const BackwardCall&) {
  COHORT_FAIL(check, "backward of an operator whose gradient needs no kernel was called");
}

Parameters OperatorRow::parse(const std::map<std::string, std::string>& attributes) const {
  return parse_parameters(name, parameters, attributes);
}

OutputNames OperatorRow::output_names(const Parameters& values) const {
  return outputs == nullptr ? OutputNames{{"output"}, 1} : outputs(values);
}

bool OperatorRow::gradient_reaches(const Parameters& values, int input, int input_count) const {
  if (gradient == GradientForm::none || input >= input_count - auxiliary) return false;
  return differentiable == nullptr || differentiable(values, input);
}

BackwardReads OperatorRow::reads_for_backward(const Parameters& values, const std::vector<bool>& wanted) const {
  return backward_reads == nullptr ? BackwardReads{} : backward_reads(values, wanted);
}

bool OperatorRow::is_loss(const Parameters& values) const {
  return ignores_head_gradient != nullptr && ignores_head_gradient(values);
}

const OperatorRow* find_operator(std::string_view name) {
  for (const OperatorRow* row : operator_table())
    if (row->name == name || std::ranges::find(row->aliases, name) != row->aliases.end()) return row;
  return nullptr;
}

const OperatorRow& operator_named(std::string_view name) {
  const OperatorRow* row = find_operator(name);
  if (row == nullptr)
    throw_usage("there is no operator '{}' (runtime/operators/table.cpp lists the {} there are)", name,
                operator_table().size());
  return *row;
}

void unify(Shape& target, const Shape& known, std::string_view what) {
  if (known.empty()) return;
  if (target.empty()) {
    target = known;
    return;
  }
  bool fits = target.rank() == known.rank();
  for (std::size_t axis = 0; fits && axis < known.rank(); ++axis)
    fits = target[axis] == 0 || known[axis] == 0 || target[axis] == known[axis];
  if (!fits) throw_usage("{} has shape {}, but {} is needed", what, to_string(target), to_string(known));
  for (std::size_t axis = 0; axis < known.rank(); ++axis)
    if (target[axis] == 0) target[axis] = known[axis];
}

void unify_all(std::span<Shape> inputs, std::span<Shape> outputs) {
  Shape common;
  for (const Shape& shape : inputs) unify(common, shape, "an input");
  for (const Shape& shape : outputs) unify(common, shape, "the output");
  std::ranges::fill(inputs, common);
  std::ranges::fill(outputs, common);
}

}  // namespace cohort
