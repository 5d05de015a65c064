#include "runtime/executor/gradient_flow.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"
#include "runtime/executor/executor.hpp"

namespace cohort {
namespace {

// The variable whose memory the entry may be (through views), or -1.
int memory_root(const Graph& graph, GraphEntry entry) {
  while (true) {
    const GraphNode& node = graph.at(entry.node);
    if (node.variable()) return entry.node;
    if (!node.row->view) return -1;
    entry = node.inputs[0];
  }
}

std::size_t index(int i) { return static_cast<std::size_t>(i); }

class FlowFinder {
 public:
  FlowFinder(const Graph& graph, const std::vector<bool>& asked) : graph_(graph), leads_(index(graph.size())) {
    const std::vector<int> arguments = graph.arguments();
    position_.assign(index(graph.size()), -1);
    after_.assign(arguments.size(), graph.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (asked[i]) position_[index(arguments[i])] = static_cast<int>(i);
      leads_[index(arguments[i])] = asked[i];
    }
  }

  GradientFlow find() {
    mark_wanted();
    spread_from_heads();
    for (std::size_t n = 0; n < position_.size(); ++n)
      if (position_[n] >= 0) flow_.order.push_back({position_[n], after_[index(position_[n])]});
    std::ranges::stable_sort(flow_.order, std::greater<>(), &GradientFlow::Ready::after);
    return std::move(flow_);
  }

 private:
  // What could get a gradient: inputs behind which an asked argument stands.
  void mark_wanted() {
    for (int n = 0; n < graph_.size(); ++n) {
      const GraphNode& node = graph_.at(n);
      std::vector<bool> wanted(node.inputs.size());
      for (int i = 0; i < node.input_count(); ++i) {
        const bool reached = node.row->gradient_reaches(node.parameters, i, node.input_count());
        wanted[index(i)] = reached && leads_[index(node.inputs[index(i)].node)];
        if (wanted[index(i)]) leads_[index(n)] = true;
      }
      flow_.wanted.push_back(std::move(wanted));
    }
  }

  // What does get one: losses, heads, and what stands before them.
  void spread_from_heads() {
    std::vector<bool> receives(index(graph_.size()));
    for (const GraphEntry& head : graph_.heads) {
      const GraphNode& node = graph_.at(head.node);
      const bool read = leads_[index(head.node)] && (node.variable() || !node.row->is_loss(node.parameters));
      flow_.head_gradients.push_back(read);
      if (read) receives[index(head.node)] = true;
    }
    flow_.active.assign(index(graph_.size()), false);
    for (int n = graph_.size() - 1; n >= 0; --n) {
      const GraphNode& node = graph_.at(n);
      if (node.variable() || !leads_[index(n)]) continue;
      if (!receives[index(n)] && !node.row->is_loss(node.parameters)) {
        flow_.wanted[index(n)].assign(node.inputs.size(), false);
        continue;
      }
      flow_.active[index(n)] = true;
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (flow_.wanted[index(n)][i]) receives[index(node.inputs[i].node)] = true;
      note_uses(n);
    }
  }

  // The arguments that node `n` is not done with before its backward.
  void note_uses(int n) {
    const GraphNode& node = graph_.at(n);
    const std::vector<bool>& wanted = flow_.wanted[index(n)];
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (wanted[i]) note(node.inputs[i].node, n);
    const BackwardReads reads = node.row->reads_for_backward(node.parameters, wanted);
    for (const int input : reads.inputs) note(memory_root(graph_, node.inputs[index(input)]), n);
    for (const int output : reads.outputs) note(memory_root(graph_, {n, output}), n);
  }

  void note(int variable, int n) {
    if (variable < 0 || position_[index(variable)] < 0) return;
    int& after = after_[index(position_[index(variable)])];
    after = std::min(after, n);
  }

  const Graph& graph_;
  std::vector<bool> leads_;    // per node: an asked argument stands behind it
  std::vector<int> position_;  // per node: of an asked argument among the arguments, else -1
  std::vector<int> after_;     // per argument
  GradientFlow flow_;
};

}  // namespace

GradientFlow find_gradient_flow(const Graph& graph, const std::vector<bool>& asked) {
  return FlowFinder(graph, asked).find();
}

std::vector<std::string> gradient_order(const Symbol& symbol, const std::vector<std::string>& without) {
  const Graph graph(symbol);
  const std::vector<int> arguments = graph.arguments();
  std::vector<bool> asked;
  asked.reserve(arguments.size());
  for (const int node : arguments) asked.push_back(std::ranges::find(without, graph.at(node).name()) == without.end());
  std::vector<std::string> names;
  for (const GradientFlow::Ready& ready : find_gradient_flow(graph, asked).order)
    names.push_back(graph.at(arguments[index(ready.argument)]).name());
  return names;
}

}  // namespace cohort
