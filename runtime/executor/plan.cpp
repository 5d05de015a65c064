#include "runtime/executor/plan.hpp"

namespace cohort {
namespace {

void append(std::vector<int>& target, const std::vector<int>& values) {
  for (const int value : values)
    if (value >= 0) target.push_back(value);
}

}  // namespace

std::vector<int> PlannedStep::reads() const {
  std::vector<int> result;
  append(result, inputs);
  if (!backward) return result;
  append(result, outputs);
  append(result, out_grads);
  append(result, {workspace});
  return result;
}

std::vector<int> PlannedStep::writes() const {
  std::vector<int> result;
  append(result, backward ? in_grads : outputs);
  if (backward) return result;
  append(result, auxiliary);
  append(result, {workspace});
  return result;
}

int PlannedStep::read_of(InplacePair pair) const {
  return (backward ? out_grads : inputs)[static_cast<std::size_t>(pair.read)];
}

int PlannedStep::written_of(InplacePair pair) const {
  return (backward ? in_grads : outputs)[static_cast<std::size_t>(pair.written)];
}

int StepPlan::add_value(const Shape& shape, Layout layout, StorageKind kind, int index) {
  storages.push_back({.kind = kind, .index = index, .bytes = static_cast<std::size_t>(shape.count()) * sizeof(float)});
  values.push_back({static_cast<int>(storages.size()) - 1, shape, layout});
  return static_cast<int>(values.size()) - 1;
}

int StepPlan::add_alias(int value, const Shape& shape, Layout layout) {
  const Value source = at(value);
  values.push_back({source.storage, shape, layout, source.exclusive});
  return static_cast<int>(values.size()) - 1;
}

int StepPlan::add_workspace(std::size_t bytes) {
  const int value = add_value({}, Layout::row_major);
  storage_of(value).bytes = bytes;
  return value;
}

OperatorKernel* StepPlan::keep(std::unique_ptr<OperatorKernel> kernel) {
  kernels.push_back(std::move(kernel));
  return kernels.back().get();
}

}  // namespace cohort
