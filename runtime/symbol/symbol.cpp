#include "runtime/symbol/symbol.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

#include "kernels/base/error.hpp"
#include "runtime/symbol/graph.hpp"

namespace cohort {
namespace {

// Attributes of an operator that its automatic variables take over: the user's (`__lr_mult__`), not its parameters.
Attributes inherited(const Attributes& attributes) {
  Attributes result;
  for (const auto& [key, value] : attributes)
    if (is_user_attribute(key)) result.emplace(key, value);
  return result;
}

NodeEntry single_entry(const Symbol& symbol, std::string_view op) {
  if (symbol.heads().size() != 1)
    throw_usage("{}: an input with {} outputs was given, but one is needed", op, symbol.heads().size());
  return symbol.heads().front();
}

// Puts inputs given by position and by name into their slots and fills the others with new variables.
std::vector<NodeEntry> place_inputs(const std::vector<std::string>& slots, const std::vector<Symbol>& positional,
                                    const std::map<std::string, Symbol>& named, const Node& node) {
  const std::string_view op = node.row->name;
  if (positional.size() > slots.size())
    throw_usage("{}: {} inputs were given, but it takes {}: {}", op, positional.size(), slots.size(),
                fmt::join(slots, ", "));
  std::vector<NodeEntry> entries(slots.size());
  for (std::size_t i = 0; i < positional.size(); ++i) entries[i] = single_entry(positional[i], op);
  for (const auto& [name, symbol] : named) {
    const auto slot = std::ranges::find(slots, name);
    if (slot == slots.end()) throw_usage("{}: it has no input '{}'; it takes {}", op, name, fmt::join(slots, ", "));
    NodeEntry& entry = entries[static_cast<std::size_t>(slot - slots.begin())];
    if (entry.node != nullptr) throw_usage("{}: input '{}' was given twice, by position and by name", op, name);
    entry = single_entry(symbol, op);
  }
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (entries[i].node == nullptr)
      entries[i] = Symbol::variable(node.name + "_" + slots[i], inherited(node.attributes)).heads().front();
  return entries;
}

}  // namespace

Symbol Symbol::variable(const std::string& name, const Attributes& attributes) {
  if (name.empty()) throw_usage("a variable needs a name");
  auto node = std::make_shared<Node>();
  node->name = name;
  node->attributes = attributes;
  return Symbol({{std::move(node), 0}});
}

Symbol Symbol::create(NameCounter& names, std::string_view op, const std::vector<Symbol>& inputs,
                      const Attributes& parameters, const std::string& name,
                      const std::map<std::string, Symbol>& named_inputs) {
  const OperatorRow& row = operator_named(op);
  auto node = std::make_shared<Node>();
  node->row = &row;
  node->attributes = parameters;
  if (!row.count_parameter.empty())
    node->attributes.try_emplace(std::string(row.count_parameter), std::to_string(inputs.size() + named_inputs.size()));
  const Parameters parsed = row.parse(node->attributes);
  node->name = names.name_for(row.hint.empty() ? op : row.hint, name);
  node->inputs = place_inputs(row.inputs(parsed), inputs, named_inputs, *node);
  std::vector<NodeEntry> heads;
  for (int i = 0; i < row.output_names(parsed).visible; ++i) heads.push_back({node, i});
  return Symbol(std::move(heads));
}

Symbol Symbol::group(const std::vector<Symbol>& symbols) {
  std::vector<NodeEntry> heads;
  for (const Symbol& symbol : symbols) heads.insert(heads.end(), symbol.heads_.begin(), symbol.heads_.end());
  return Symbol(std::move(heads));
}

std::vector<std::shared_ptr<Node>> Symbol::nodes() const {
  struct Visit {
    std::shared_ptr<Node> node;
    std::size_t next_input = 0;
  };
  std::vector<std::shared_ptr<Node>> order;
  std::unordered_set<const Node*> seen;
  std::vector<Visit> stack;  // not recursion: a graph may be thousands of nodes deep
  for (const NodeEntry& head : heads_) {
    if (seen.insert(head.node.get()).second) stack.push_back({head.node});
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next_input == top.node->inputs.size()) {
        order.push_back(std::move(top.node));
        stack.pop_back();
        continue;
      }
      const std::shared_ptr<Node>& input = top.node->inputs[top.next_input++].node;
      if (seen.insert(input.get()).second) stack.push_back({input});
    }
  }
  return order;
}

std::vector<std::string> Symbol::list_arguments() const {
  const Graph graph(*this);
  std::vector<std::string> names;
  for (const int node : graph.arguments()) names.push_back(graph.at(node).name());
  return names;
}

std::vector<std::string> Symbol::list_auxiliary_states() const {
  const Graph graph(*this);
  std::vector<std::string> names;
  for (const int node : graph.auxiliary_states()) names.push_back(graph.at(node).name());
  return names;
}

std::vector<std::string> Symbol::list_outputs() const {
  std::vector<std::string> names;
  for (const NodeEntry& head : heads_) {
    const Node& node = *head.node;
    if (node.variable()) {
      names.push_back(node.name);
      continue;
    }
    const OutputNames outputs = node.row->output_names(node.row->parse(node.attributes));
    names.push_back(node.name + "_" + outputs.names[static_cast<std::size_t>(head.output)]);
  }
  return names;
}

std::optional<std::string> Symbol::attribute(const std::string& node, const std::string& key) const {
  for (const auto& candidate : nodes()) {
    if (candidate->name != node) continue;
    for (const std::string& form : {"__" + key + "__", key})
      if (const auto found = candidate->attributes.find(form); found != candidate->attributes.end())
        return found->second;
  }
  return std::nullopt;
}

}  // namespace cohort
