// An executor's plan: steps over values, values in storages, storages in bound arrays or in one block of memory.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "kernels/elementwise.hpp"
#include "runtime/executor/gradient_flow.hpp"
#include "runtime/operators/operator.hpp"

namespace cohort {

enum class StorageKind { planned, argument, auxiliary, gradient, output, head_gradient };

// Memory of one or more values that are never alive with different contents at the same time.
struct Storage {
  StorageKind kind = StorageKind::planned;
  int index = -1;  // of the bound array: argument position, auxiliary position, head
  std::size_t bytes = 0;
  int first = std::numeric_limits<int>::max();  // the step that writes it first
  int last = -1;                                // the step that uses it last
  std::size_t offset = 0;                       // in the block, where planned
};

// Written by one step (or bound), never changed after: a changed value is another value, perhaps in the same storage.
struct Value {
  int storage = 0;
  Shape shape;
  Layout layout = Layout::row_major;
  bool exclusive = true;  // of gradients: no other gradient is the same value under another name
};

// Numbers are values; -1 is none. A forward step reads inputs and writes outputs, auxiliary and workspace; a backward
// step reads inputs, outputs, out_grads and workspace and writes in_grads.
struct PlannedStep {
  OperatorKernel* kernel = nullptr;
  std::vector<int> inputs = {};
  std::vector<int> outputs = {};
  std::vector<int> auxiliary = {};
  std::vector<int> out_grads = {};
  std::vector<int> in_grads = {};
  int workspace = -1;
  bool backward = false;
  std::span<const InplacePair> inplace = {};
  int gradients_ready = 0;  // how many of GradientFlow::order become ready with this step

  std::vector<int> reads() const;
  std::vector<int> writes() const;
  // The value that a pair reads, and the one that it writes.
  int read_of(InplacePair pair) const;
  int written_of(InplacePair pair) const;
};

struct StepPlan {
  std::vector<std::unique_ptr<OperatorKernel>> kernels;
  std::vector<Value> values;
  std::vector<Storage> storages;
  std::vector<PlannedStep> steps;  // forward, then backward
  int ready_at_start = 0;          // gradients that are ready before the first backward step
  std::size_t planned_bytes = 0;
  std::size_t unshared_bytes = 0;

  Storage& storage_of(int value) { return storages[static_cast<std::size_t>(at(value).storage)]; }
  const Storage& storage_of(int value) const { return storages[static_cast<std::size_t>(at(value).storage)]; }
  Value& at(int value) { return values[static_cast<std::size_t>(value)]; }
  const Value& at(int value) const { return values[static_cast<std::size_t>(value)]; }

  // A value in a storage of its own.
  int add_value(const Shape& shape, Layout layout, StorageKind kind = StorageKind::planned, int index = -1);
  // The same memory under another shape or layout.
  int add_alias(int value, const Shape& shape, Layout layout);
  int add_workspace(std::size_t bytes);
  OperatorKernel* keep(std::unique_ptr<OperatorKernel> kernel);
};

enum class GradRequest;

// What a plan is made from. Valid while planning.
struct PlanRequest {
  const Graph& graph;
  const std::vector<std::vector<Shape>>& shapes;
  const GradientFlow& flow;
  const std::vector<GradRequest>& requests;  // per position in Graph::arguments()
  const Backend& backend;
  Elementwise& elementwise;  // outlives the plan
  int threads;               // that kernels compute with
};

StepPlan make_plan(const PlanRequest& request);

// Shares memory: results in place of operands where rows allow it, then one block by lifetime. With several threads
// less is shared: storages overlap only where they begin together, so that a thread's part of one is nearly that of the
// other. Part of make_plan.
void plan_memory(StepPlan& plan, int threads);

}  // namespace cohort
