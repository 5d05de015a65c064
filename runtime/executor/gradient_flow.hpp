// Where gradients flow in a graph, and when each argument's is final: a function of the graph alone, not of shapes.
#pragma once

#include <vector>

#include "runtime/symbol/graph.hpp"

namespace cohort {

struct GradientFlow {
  struct Ready {
    int argument = 0;  // position in Graph::arguments()
    int after = 0;     // the node whose backward comes last before it; Graph::size(): none
  };

  std::vector<std::vector<bool>> wanted;  // per node and input: backward makes this gradient
  std::vector<bool> active;               // per node: it has a backward
  std::vector<bool> head_gradients;       // per head: its gradient is read
  // Arguments with a gradient, in the order in which backward (which visits nodes from last to first) is done with
  // them: with their gradients, and with reading their values.
  std::vector<Ready> order;
};

// `asked`: per position in Graph::arguments(), whether its gradient is asked for.
GradientFlow find_gradient_flow(const Graph& graph, const std::vector<bool>& asked);

}  // namespace cohort
