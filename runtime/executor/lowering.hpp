// The forward half of a plan, and what the backward half has to know of it.
#pragma once

#include <vector>

#include "runtime/executor/plan.hpp"

namespace cohort {

// One operation between values, in forward order. An alias has no step; its gradient is an alias too.
struct LoweredOp {
  enum class Kind { node, convert, copy, alias };
  Kind kind = Kind::node;
  int node = 0;  // for which it is done; Graph::size(): for a head
  std::vector<int> inputs = {};
  std::vector<int> outputs = {};
  OperatorKernel* kernel = nullptr;
  int workspace = -1;
};

struct ForwardPlan {
  std::vector<LoweredOp> ops;
  std::vector<int> variables;  // per node: the value of a variable
  std::vector<int> heads;      // per head: its value, in the head's own array
};

// Decides layouts, makes every node's kernels and appends the forward steps.
ForwardPlan lower_forward(const PlanRequest& request, StepPlan& plan);

// Appends the backward steps.
void lower_backward(const PlanRequest& request, const ForwardPlan& forward, StepPlan& plan);

}  // namespace cohort
