// Symbol: a graph of operators, composed by name; immutable but for attributes.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/shape.hpp"

namespace cohort {

struct OperatorRow;  // runtime/operators/operator.hpp

using Attributes = std::map<std::string, std::string>;

// One node: a variable (`row` is null) or an operator. Shared between symbols.
struct Node;
struct NodeEntry {
  std::shared_ptr<Node> node;
  int output = 0;

  bool operator==(const NodeEntry&) const = default;
};
struct Node {
  const OperatorRow* row = nullptr;
  std::string name;
  Attributes attributes;  // operator parameters and user attributes (__lr_mult__, ...) as text
  std::vector<NodeEntry> inputs;
  bool variable() const { return row == nullptr; }
};

// Counters for automatic names (convolution0, _plus0, ...): one per graph-building session, from 0.
class NameCounter {
 public:
  // `given` if not empty, else the lower-cased hint and its counter.
  std::string name_for(std::string_view hint, const std::string& given = {});

 private:
  std::map<std::string, int, std::less<>> counts_;
};

struct InferredShapes {
  std::vector<Shape> arguments;  // in list_arguments order; likewise below
  std::vector<Shape> outputs;
  std::vector<Shape> auxiliary;
};

class Symbol {
 public:
  Symbol() = default;
  explicit Symbol(std::vector<NodeEntry> heads) : heads_(std::move(heads)) {}

  static Symbol variable(const std::string& name, const Attributes& attributes = {});
  // An operator by its MXNet name or alias. `inputs` by position, `named_inputs` by the operator's input name, never
  // both for one slot; missing inputs become variables `<name>_<input>`. Parameters as text. Throws Error(usage) naming
  // the operator and what is wrong.
  static Symbol create(NameCounter& names, std::string_view op, const std::vector<Symbol>& inputs,
                       const Attributes& parameters = {}, const std::string& name = {},
                       const std::map<std::string, Symbol>& named_inputs = {});
  static Symbol group(const std::vector<Symbol>& symbols);

  // MXNet's JSON of every generation, from 0.8 (`param`) over 0.9 (`attr`) to 1.x (`attrs`); `origin` names the text in
  // errors.
  static Symbol from_json(const std::string& text, const std::string& origin);
  // The 1.x form.
  std::string to_json() const;

  const std::vector<NodeEntry>& heads() const { return heads_; }
  // Every node once, inputs before users (depth-first post-order from the heads).
  std::vector<std::shared_ptr<Node>> nodes() const;

  std::vector<std::string> list_arguments() const;
  std::vector<std::string> list_auxiliary_states() const;
  std::vector<std::string> list_outputs() const;
  // The value of `__key__` (or `key`) on the node of that name.
  std::optional<std::string> attribute(const std::string& node, const std::string& key) const;

  // Forward and backward over the graph until nothing changes. Throws Error(usage) naming the node on a contradiction,
  // or the arguments that stay unknown.
  InferredShapes infer_shapes(const std::map<std::string, Shape>& known) const;

 private:
  std::vector<NodeEntry> heads_;
};

}  // namespace cohort
