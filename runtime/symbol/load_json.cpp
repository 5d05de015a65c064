// Reads MXNet's symbol JSON of every generation and upgrades what older ones said differently.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>

#include "kernels/base/error.hpp"
#include "runtime/operators/operator.hpp"
#include "runtime/symbol/symbol.hpp"

namespace cohort {
namespace {

using Json = nlohmann::json;

// Walks over a graph go as deep as it is long.
constexpr std::size_t most_nodes = 50'000;

// Of lists and maps within each other. A symbol file has five.
constexpr int most_levels = 32;

constexpr int version_before_versions = 800;  // files without a version are of 0.8 or older
constexpr int first_with_auxiliary_inputs = 900;
constexpr int first_with_current_attributes = 10900;

// User attributes that were once written without underscores.
constexpr std::array<std::string_view, 5> plain_user_keys = {"ctx_group", "lr_mult", "wd_mult", "force_mirroring",
                                                             "mirror_stage"};

std::string user_key(std::string_view key) { return fmt::format("__{}__", key); }

class Loader {
 public:
  Loader(const std::string& text, const std::string& origin) : origin_(origin) {
    const auto refuse_depth = [&](int depth, Json::parse_event_t, const Json&) {
      if (depth > most_levels)
        throw_usage("{}: not a symbol file: it nests deeper than {} levels", origin, most_levels);
      return true;
    };
    try {
      json_ = Json::parse(text, refuse_depth);
    } catch (const Json::parse_error& error) {
      throw_usage("{}: not a symbol file: {}", origin, error.what());
    }
    version_ = file_version();
  }

  Symbol load() {
    const Json& list = member(json_, "nodes", "the file");
    if (!list.is_array()) fail("'nodes' is no list");
    if (list.size() > most_nodes) fail("it has {} nodes; at most {} are read", list.size(), most_nodes);
    for (const Json& item : list) add_node(item);
    std::vector<NodeEntry> heads;
    for (const Json& head : member(json_, "heads", "the file")) heads.push_back(entry(head, "'heads'"));
    if (heads.empty()) fail("it has no heads");
    return Symbol(std::move(heads));
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    throw_usage("{}: {}", origin_, fmt::format(format, std::forward<Args>(args)...));
  }

  const Json& member(const Json& object, const char* key, std::string_view owner) const {
    if (!object.is_object() || !object.contains(key)) fail("{} has no '{}'", owner, key);
    return object.at(key);
  }

  std::string text_member(const Json& object, const char* key, std::string_view owner) const {
    const Json& value = member(object, key, owner);
    if (!value.is_string()) fail("'{}' of {} is no text", key, owner);
    return value.get<std::string>();
  }

  int file_version() const {
    if (!json_.is_object()) fail("not a symbol file: a JSON object is needed");
    const auto attributes = json_.find("attrs");
    if (attributes == json_.end() || !attributes->is_object()) return version_before_versions;
    const auto version = attributes->find("mxnet_version");
    if (version == attributes->end()) return version_before_versions;
    if (!version->is_array() || version->size() != 2 || !(*version)[1].is_number_integer())
      fail("'mxnet_version' is not [\"int\", number]");
    return (*version)[1].get<int>();
  }

  // [node, output] or [node, output, version] of a node that stands before.
  NodeEntry entry(const Json& json, const std::string& owner) const {
    const bool shaped = json.is_array() && (json.size() == 2 || json.size() == 3) &&
                        std::ranges::all_of(json, [](const Json& n) { return n.is_number_unsigned(); });
    if (!shaped) fail("{} holds {}, but [node, output, version] is needed", owner, json.dump());
    const auto number = json[0].get<std::size_t>();
    if (number >= nodes_.size()) fail("{} refers to node {}, which does not stand before it", owner, number);
    const auto output = json[1].get<std::uint64_t>();
    const Node& node = *nodes_[number];
    const std::uint64_t outputs =
        node.variable() ? 1 : (node.row->output_names(node.row->parse(node.attributes)).names.size());
    if (output >= outputs) fail("{} refers to output {} of node '{}', which has {}", owner, output, node.name, outputs);
    return {nodes_[number], static_cast<int>(output)};
  }

  // Merges the maps of all generations; the first to name a key wins. Returns the keys that came from `attr`.
  std::set<std::string> read_attributes(const Json& item, Node& node) const {
    std::set<std::string> from_attr;
    for (const char* key : {"attrs", "attr", "param"}) {
      const auto map = item.find(key);
      if (map == item.end()) continue;
      if (!map->is_object()) fail("'{}' of node '{}' is no map", key, node.name);
      for (const auto& [name, value] : map->items()) {
        if (!value.is_string()) fail("'{}' of node '{}' is no text", name, node.name);
        const bool fresh = node.attributes.emplace(name, value.get<std::string>()).second;
        if (fresh && std::string_view(key) == "attr") from_attr.insert(name);
      }
    }
    return from_attr;
  }

  void add_node(const Json& item) {
    auto node = std::make_shared<Node>();
    node->name = text_member(item, "name", fmt::format("node {}", nodes_.size()));
    const std::string op = text_member(item, "op", "node '" + node->name + "'");
    const std::set<std::string> from_attr = read_attributes(item, *node);
    const std::string owner = "node '" + node->name + "'";
    for (const Json& input : member(item, "inputs", owner)) node->inputs.push_back(entry(input, owner));
    if (op == "null") {
      if (!node->inputs.empty()) fail("{} is a variable, but has inputs", owner);
      if (!variables_.insert(node->name).second) fail("two variables have the name '{}'", node->name);
      upgrade_variable(*node);
    } else {
      node->row = find_operator(op);
      if (node->row == nullptr)
        fail("{} uses operator '{}', which is not available (runtime/operators/table.cpp lists those that are)", owner,
             op);
      finish_operator(*node, from_attr);
    }
    nodes_.push_back(std::move(node));
  }

  void upgrade_variable(Node& node) const {
    if (version_ >= first_with_current_attributes) return;
    for (const std::string_view key : plain_user_keys) rename(node, std::string(key), user_key(key));
  }

  static void rename(Node& node, const std::string& from, const std::string& to) {
    auto handle = node.attributes.extract(from);
    if (handle.empty()) return;
    handle.key() = to;
    node.attributes.insert(std::move(handle));
  }

  // An operator's plain user attributes: its own, or, as `<input>_<key>`, those of the variable that feeds the input.
  void upgrade_operator(Node& node, const std::set<std::string>& from_attr) const {
    for (const std::string_view key : plain_user_keys) rename(node, std::string(key), user_key(key));
    const auto is_parameter = [&](const std::string& key) {
      return std::ranges::any_of(node.row->parameters, [&](const ParameterSpec& spec) { return spec.name == key; });
    };
    // Before versions were written, `attr` held nothing but the user's attributes.
    for (const std::string& key : from_attr)
      if (!is_user_attribute(key) && !is_parameter(key) && node.attributes.contains(key) &&
          (version_ <= version_before_versions || names_input(key)))
        rename(node, key, user_key(key));
  }

  // Whether the key is `<input>_<plain user key>`.
  static bool names_input(std::string_view key) {
    return std::ranges::any_of(plain_user_keys, [&](std::string_view plain) {
      return key.size() > plain.size() && key.ends_with(plain) && key[key.size() - plain.size() - 1] == '_';
    });
  }

  // `__weight_lr_mult__` on an operator is `__lr_mult__` on the variable that feeds its input `weight`.
  static void hand_down(Node& node, const std::vector<std::string>& slots) {
    for (std::size_t i = 0; i < slots.size() && i < node.inputs.size(); ++i) {
      if (!node.inputs[i].node->variable()) continue;
      for (const std::string_view key : plain_user_keys) {
        const auto found = node.attributes.find(fmt::format("__{}_{}__", slots[i], key));
        if (found == node.attributes.end()) continue;
        node.inputs[i].node->attributes[user_key(key)] = found->second;
        node.attributes.erase(found);
      }
    }
  }

  void finish_operator(Node& node, const std::set<std::string>& from_attr) {
    const bool old = version_ < first_with_current_attributes;
    if (old) upgrade_operator(node, from_attr);
    try {
      const Parameters parameters = node.row->parse(node.attributes);
      const std::string_view count = node.row->count_parameter;
      // Compared before each of so many inputs gets a name.
      if (!count.empty() && parameters.integer(count) != static_cast<std::int64_t>(node.inputs.size()))
        throw_usage("{} is {}, but {} inputs are given", count, parameters.integer(count), node.inputs.size());
      const std::vector<std::string> slots = node.row->inputs(parameters);
      // Older files leave out auxiliary states.
      if (version_ < first_with_auxiliary_inputs)
        for (std::size_t i = node.inputs.size(); i < slots.size(); ++i) {
          const std::string name = node.name + "_" + slots[i];
          if (!variables_.insert(name).second) throw_usage("input {} would be a second variable '{}'", slots[i], name);
          node.inputs.push_back(Symbol::variable(name, node.attributes).heads().front());
        }
      if (node.inputs.size() != slots.size())
        throw_usage("{} inputs are given, but it takes {}", node.inputs.size(), slots.size());
      if (old) hand_down(node, slots);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::usage) throw;
      fail("node '{}': {}", node.name, error.message());
    }
  }

  std::string origin_;
  Json json_;
  int version_ = 0;
  std::vector<std::shared_ptr<Node>> nodes_;
  std::set<std::string> variables_;  // names met
};

}  // namespace

Symbol Symbol::from_json(const std::string& text, const std::string& origin) { return Loader(text, origin).load(); }

}  // namespace cohort
