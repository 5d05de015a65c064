#include "runtime/executor/program.hpp"

#include <algorithm>

namespace cohort {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

void* memory_of(const NDArray& array) { return static_cast<std::byte*>(array.buffer()->data()) + array.byte_offset(); }

}  // namespace

template <class T>
std::span<T> Program::Slots<T>::add(const std::vector<int>& added) {
  const std::size_t begin = memory.size();
  memory.resize(begin + added.size());
  values.insert(values.end(), added.begin(), added.end());
  return {memory.data() + begin, added.size()};
}

Program::Program(StepPlan plan, const BoundArrays& arrays) : plan_(std::move(plan)), arrays_(arrays) {
  reserve();
  for (const PlannedStep& planned : plan_.steps) {
    (planned.backward ? backward_ : forward_).push_back(bind(planned));
    workspaces_.push_back(planned.workspace);
  }
  for (std::size_t i = 0; i < sources_.values.size(); ++i) {
    const int value = sources_.values[i];
    if (value >= 0 && plan_.storage_of(value).kind == StorageKind::head_gradient)
      head_slots_.emplace_back(&sources_.memory[i], plan_.storage_of(value).index);
  }
}

// Spans into these arrays are handed out while they fill: they must not move.
void Program::reserve() {
  std::size_t parameters = 0;
  std::size_t sources = 0;
  std::size_t targets = 0;
  std::size_t all = 0;
  for (const PlannedStep& step : plan_.steps) {
    parameters += step.inputs.size();
    sources += step.backward ? step.outputs.size() + step.out_grads.size() : 0;
    targets += step.backward ? step.in_grads.size() : step.outputs.size() + step.auxiliary.size();
    all += step.reads().size() + step.writes().size();
  }
  parameters_.memory.reserve(parameters);
  sources_.memory.reserve(sources);
  targets_.memory.reserve(targets);
  reads_.reserve(all);
  writes_.reserve(all);
}

Program::Step Program::bind(const PlannedStep& planned) {
  Step step{.kernel = planned.kernel};
  const std::span<Parameter> inputs = parameters_.add(planned.inputs);
  if (planned.backward) {
    step.backward = {.inputs = inputs,
                     .outputs = sources_.add(planned.outputs),
                     .out_grads = sources_.add(planned.out_grads),
                     .in_grads = targets_.add(planned.in_grads)};
  } else {
    step.forward = {
        .inputs = inputs, .outputs = targets_.add(planned.outputs), .auxiliary = targets_.add(planned.auxiliary)};
  }
  step.ready = index(planned.gradients_ready);

  const std::size_t first_read = reads_.size();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (planned.inputs[i] < 0) continue;
    if (Buffer* buffer = buffer_of(planned.inputs[i]))
      reads_.push_back({buffer, &inputs[i]});
    else
      computed_.push_back(&inputs[i]);
  }
  if (planned.backward)
    for (const int value : planned.outputs)
      if (Buffer* buffer = value < 0 ? nullptr : buffer_of(value)) reads_.push_back({buffer, nullptr});
  step.reads = {reads_.data() + first_read, reads_.size() - first_read};

  const std::size_t first_write = writes_.size();
  for (const int value : planned.writes())
    if (Buffer* buffer = buffer_of(value)) writes_.push_back(buffer);
  step.writes = {writes_.data() + first_write, writes_.size() - first_write};
  return step;
}

const NDArray* Program::array_of(const Storage& storage) const {
  switch (storage.kind) {
    case StorageKind::argument: return &arrays_.arguments[index(storage.index)];
    case StorageKind::auxiliary: return &arrays_.auxiliary[index(storage.index)];
    case StorageKind::gradient: return &arrays_.gradients[index(storage.index)];
    case StorageKind::output: return &arrays_.outputs[index(storage.index)];
    case StorageKind::planned:
    case StorageKind::head_gradient: break;
  }
  return nullptr;
}

Buffer* Program::buffer_of(int value) const {
  const NDArray* array = array_of(plan_.storage_of(value));
  return array == nullptr ? nullptr : array->buffer().get();
}

void* Program::address(int value) const {
  if (value < 0) return nullptr;
  const Storage& storage = plan_.storage_of(value);
  if (storage.kind == StorageKind::head_gradient) return nullptr;  // set by backward
  if (const NDArray* array = array_of(storage)) return memory_of(*array);
  return block_ + storage.offset;
}

void Program::place(std::byte* block) {
  block_ = block;
  for (std::size_t i = 0; i < parameters_.memory.size(); ++i)
    parameters_.memory[i].data = static_cast<const float*>(address(parameters_.values[i]));
  for (std::size_t i = 0; i < sources_.memory.size(); ++i)
    sources_.memory[i] = static_cast<const float*>(address(sources_.values[i]));
  for (std::size_t i = 0; i < targets_.memory.size(); ++i)
    targets_.memory[i] = static_cast<float*>(address(targets_.values[i]));
  for (std::size_t i = 0; i < forward_.size(); ++i) forward_[i].forward.workspace = address(workspaces_[i]);
  for (std::size_t i = 0; i < backward_.size(); ++i)
    backward_[i].backward.workspace = address(workspaces_[forward_.size() + i]);
}

inline void Program::begin(const Step& step) const {
  for (const BoundRead& read : step.reads) {
    if (read.buffer->pending()) read.buffer->wait_to_read();
    if (read.slot != nullptr) read.slot->version = read.buffer->version();
  }
  for (Buffer* buffer : step.writes)
    if (buffer->pending()) buffer->wait_to_write();
}

inline void Program::end(const Step& step) const {
  for (Buffer* buffer : step.writes) buffer->bump_version();
}

void Program::forward(bool train) {
  // A weight that the graph computes has a new value each time.
  ++runs_;
  for (Parameter* slot : computed_) slot->version = runs_;
  for (const Step& step : forward_) {
    begin(step);
    step.kernel->forward(step.forward, train);
    end(step);
  }
}

void Program::backward(std::span<const float* const> head_gradients, const std::function<void(std::size_t)>& ready) {
  for (const auto& [slot, head] : head_slots_) *slot = head_gradients[index(head)];
  std::size_t next = 0;
  const auto report = [&](std::size_t count) {
    for (; count > 0; --count, ++next)
      if (ready) ready(next);
  };
  report(index(plan_.ready_at_start));
  for (const Step& step : backward_) {
    begin(step);
    step.kernel->backward(step.backward);
    end(step);
    report(step.ready);
  }
}

}  // namespace cohort
