// Writes the 1.x form of MXNet's symbol JSON.
#include <nlohmann/json.hpp>

#include "runtime/symbol/graph.hpp"

namespace cohort {
namespace {

constexpr int written_version = 10900;  // what files of MXNet 1.9.0 say

using Json = nlohmann::ordered_json;

Json node_json(const Graph& graph, const GraphNode& node) {
  Json json;
  json["op"] = node.variable() ? std::string("null") : std::string(node.row->name);
  json["name"] = node.name();
  if (!node.source->attributes.empty()) json["attrs"] = node.source->attributes;
  json["inputs"] = Json::array();
  for (const GraphEntry& input : node.inputs)
    json["inputs"].push_back({input.node, input.output, graph.at(input.node).auxiliary ? 1 : 0});
  return json;
}

}  // namespace

std::string Symbol::to_json() const {
  const Graph graph(*this);
  Json json{{"nodes", Json::array()}, {"arg_nodes", Json::array()}, {"node_row_ptr", {0}}, {"heads", Json::array()}};
  int outputs = 0;
  for (int n = 0; n < graph.size(); ++n) {
    const GraphNode& node = graph.at(n);
    json["nodes"].push_back(node_json(graph, node));
    if (node.variable()) json["arg_nodes"].push_back(n);
    json["node_row_ptr"].push_back(outputs += node.output_count);
  }
  for (const GraphEntry& head : graph.heads) json["heads"].push_back({head.node, head.output, 0});
  json["attrs"]["mxnet_version"] = {"int", written_version};
  return json.dump(2) + "\n";
}

}  // namespace cohort
