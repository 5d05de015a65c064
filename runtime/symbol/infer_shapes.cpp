// Shape inference: every operator refines what is known of its arrays until nothing changes.
#include <fmt/ranges.h>

#include "kernels/base/error.hpp"
#include "runtime/symbol/graph.hpp"

namespace cohort {
namespace {

// No array of a network has more elements; sums of sizes stay far from the end of the numbers.
constexpr std::int64_t most_elements = std::int64_t{1} << 40;

void require_possible(const std::vector<Shape>& shapes) {
  for (const Shape& shape : shapes)
    if (shape.count() > most_elements) throw_usage("an array of shape {} is too large", to_string(shape));
}

class Inference {
 public:
  explicit Inference(const Graph& graph) : graph_(graph) {
    for (const GraphNode& node : graph.nodes) shapes_.emplace_back(static_cast<std::size_t>(node.output_count));
  }

  void seed(const std::map<std::string, Shape>& known) {
    for (int n = 0; n < graph_.size(); ++n) {
      const GraphNode& node = graph_.at(n);
      if (!node.variable()) continue;
      Shape& shape = at({n, 0});
      if (const auto found = known.find(node.name()); found != known.end()) shape = found->second;
      const Attributes& attributes = node.source->attributes;
      if (const auto hint = attributes.find("__shape__"); hint != attributes.end())
        unify(shape, parse_tuple(hint->second, node.name() + ": __shape__"), "variable '" + node.name() + "'");
    }
  }

  // Ends, since each sweep that changes something makes an unknown extent known.
  void run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (int n = 0; n < graph_.size(); ++n) changed |= visit(n);
      for (int n = graph_.size() - 1; n >= 0; --n) changed |= visit(n);
    }
  }

  std::vector<std::vector<Shape>> finish() {
    std::vector<std::string> unknown;
    for (int n = 0; n < graph_.size(); ++n)
      for (const Shape& shape : shapes_[static_cast<std::size_t>(n)])
        if (!shape.known()) unknown.push_back(fmt::format("{} {}", graph_.at(n).name(), to_string(shape)));
    if (!unknown.empty()) throw_usage("shapes that stay unknown: {}", fmt::join(unknown, ", "));
    return std::move(shapes_);
  }

 private:
  Shape& at(GraphEntry entry) {
    return shapes_[static_cast<std::size_t>(entry.node)][static_cast<std::size_t>(entry.output)];
  }

  bool visit(int number) {
    const GraphNode& node = graph_.at(number);
    if (node.variable()) return false;
    std::vector<Shape> inputs;
    for (const GraphEntry& entry : node.inputs) inputs.push_back(at(entry));
    std::vector<Shape>& known_outputs = shapes_[static_cast<std::size_t>(number)];
    std::vector<Shape> outputs = known_outputs;
    try {
      require_possible(inputs);  // before anything is multiplied; what infer() adds to them comes by again
      node.row->infer(node.parameters, inputs, outputs);
      require_possible(outputs);
      bool changed = outputs != known_outputs;
      known_outputs = std::move(outputs);
      for (std::size_t i = 0; i < inputs.size(); ++i) changed |= merge(node.inputs[i], inputs[i]);
      return changed;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage) throw;
      throw_usage("node '{}' ({}): {}", node.name(), node.row->name, error.message());
    }
  }

  bool merge(GraphEntry entry, const Shape& shape) {
    Shape& known = at(entry);
    const Shape before = known;
    unify(known, shape, "'" + graph_.at(entry.node).name() + "'");
    return known != before;
  }

  const Graph& graph_;
  std::vector<std::vector<Shape>> shapes_;
};

}  // namespace

std::vector<std::vector<Shape>> infer_graph_shapes(const Graph& graph, const std::map<std::string, Shape>& known) {
  Inference inference(graph);
  inference.seed(known);
  inference.run();
  return inference.finish();
}

InferredShapes Symbol::infer_shapes(const std::map<std::string, Shape>& known) const {
  const Graph graph(*this);
  const std::vector<std::vector<Shape>> shapes = infer_graph_shapes(graph, known);
  const auto first_output = [&](int node) { return shapes[static_cast<std::size_t>(node)][0]; };
  InferredShapes result;
  for (const int node : graph.arguments()) result.arguments.push_back(first_output(node));
  for (const int node : graph.auxiliary_states()) result.auxiliary.push_back(first_output(node));
  for (const GraphEntry& head : graph.heads)
    result.outputs.push_back(shapes[static_cast<std::size_t>(head.node)][static_cast<std::size_t>(head.output)]);
  return result;
}

}  // namespace cohort
