// A symbol's nodes by number, with parsed parameters: what inference, gradient flow and planning walk over.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/operators/operator.hpp"
#include "runtime/symbol/symbol.hpp"

namespace cohort {

struct GraphEntry {
  int node = 0;
  int output = 0;
};

struct GraphNode {
  std::shared_ptr<Node> source;
  const OperatorRow* row = nullptr;  // null: a variable
  Parameters parameters = {};
  std::vector<GraphEntry> inputs = {};
  int output_count = 1;
  bool auxiliary = false;  // a variable that feeds a mutated input

  bool variable() const { return row == nullptr; }
  const std::string& name() const { return source->name; }
  int input_count() const { return static_cast<int>(inputs.size()); }
};

// Nodes stand in the order of Symbol::nodes(): inputs before users. A copy of the structure, not of the nodes.
struct Graph {
  explicit Graph(const Symbol& symbol);

  GraphNode& at(int node) { return nodes[static_cast<std::size_t>(node)]; }
  const GraphNode& at(int node) const { return nodes[static_cast<std::size_t>(node)]; }
  int size() const { return static_cast<int>(nodes.size()); }
  // Numbers of the variables that are no auxiliary states, and of those that are.
  std::vector<int> arguments() const;
  std::vector<int> auxiliary_states() const;

  std::vector<GraphNode> nodes;
  std::vector<GraphEntry> heads;
};

// Shapes of every node's outputs, all known. Throws Error(usage) as Symbol::infer_shapes does.
std::vector<std::vector<Shape>> infer_graph_shapes(const Graph& graph, const std::map<std::string, Shape>& known);

}  // namespace cohort
