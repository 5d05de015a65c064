#include "runtime/symbol/graph.hpp"

#include <unordered_map>

namespace cohort {
namespace {

std::vector<int> variables(const Graph& graph, bool auxiliary) {
  std::vector<int> result;
  for (int n = 0; n < graph.size(); ++n)
    if (graph.at(n).variable() && graph.at(n).auxiliary == auxiliary) result.push_back(n);
  return result;
}

}  // namespace

Graph::Graph(const Symbol& symbol) {
  std::unordered_map<const Node*, int> numbers;
  const auto numbered = [&](const NodeEntry& entry) { return GraphEntry{numbers.at(entry.node.get()), entry.output}; };
  for (const std::shared_ptr<Node>& source : symbol.nodes()) {
    numbers.emplace(source.get(), size());
    GraphNode node{.source = source, .row = source->row};
    for (const NodeEntry& input : source->inputs) node.inputs.push_back(numbered(input));
    if (!node.variable()) {
      node.parameters = node.row->parse(source->attributes);
      node.output_count = static_cast<int>(node.row->output_names(node.parameters).names.size());
      for (int i = node.input_count() - node.row->auxiliary; i < node.input_count(); ++i)
        at(node.inputs[static_cast<std::size_t>(i)].node).auxiliary = true;
    }
    nodes.push_back(std::move(node));
  }
  for (const NodeEntry& head : symbol.heads()) heads.push_back(numbered(head));
}

std::vector<int> Graph::arguments() const { return variables(*this, false); }
std::vector<int> Graph::auxiliary_states() const { return variables(*this, true); }

}  // namespace cohort
