// The built-in networks: names, shapes and parameter counts as MXNet's examples have them.
#include "runtime/models/models.hpp"

#include "kernels/base/error.hpp"
#include "test/support/catch.hpp"

using namespace cohort;
using Names = std::vector<std::string>;

namespace {

std::int64_t parameter_count(const Symbol& net, const Shape& data) {
  const InferredShapes shapes = net.infer_shapes({{"data", data}});
  const Names names = net.list_arguments();
  std::int64_t count = 0;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] != "data" && names[i] != "softmax_label") count += shapes.arguments[i].count();
  return count;
}

}  // namespace

TEST_CASE("mlp") {
  const Symbol net = build_model("mlp", {});
  CHECK(net.list_arguments() ==
        Names{"data", "fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias", "fc3_weight", "fc3_bias", "softmax_label"});
  CHECK(net.list_outputs() == Names{"softmax_output"});
  CHECK(parameter_count(net, {64, 1, 28, 28}) == 109386);
  Names nodes;
  for (const auto& node : net.nodes())
    if (!node->variable()) nodes.push_back(node->name);
  CHECK(nodes == Names{"flatten0", "fc1", "relu1", "fc2", "relu2", "fc3", "softmax"});
}

TEST_CASE("lenet") {
  const Symbol net = build_model("lenet", {});
  CHECK(net.list_arguments() == Names{"data", "convolution0_weight", "convolution0_bias", "convolution1_weight",
                                      "convolution1_bias", "fullyconnected0_weight", "fullyconnected0_bias",
                                      "fullyconnected1_weight", "fullyconnected1_bias", "softmax_label"});
  CHECK(net.list_outputs() == Names{"softmax_output"});
  CHECK(parameter_count(net, {64, 1, 28, 28}) == 431080);
  Names nodes;
  for (const auto& node : net.nodes())
    if (!node->variable()) nodes.push_back(node->name);
  CHECK(nodes == Names{"convolution0", "activation0", "pooling0", "convolution1", "activation1", "pooling1", "flatten0",
                       "fullyconnected0", "activation2", "fullyconnected1", "softmax"});
  const InferredShapes large = build_model("lenet", {.num_classes = 100}).infer_shapes({{"data", {2, 3, 32, 32}}});
  CHECK(large.arguments[5] == Shape{500, 1250});
  CHECK(large.outputs == std::vector<Shape>{{2, 100}});
}

TEST_CASE("an unknown network is answered with the table") {
  CHECK_THROWS_WITH(build_model("resnet", {}), Catch::Matchers::Contains("lenet, mlp"));
}

TEST_CASE("a depth is refused by networks that have one of their own") {
  for (const ModelRow& row : model_table())
    CHECK_THROWS_WITH(build_model(row.name, {.num_layers = 18}),
                      Catch::Matchers::Contains("--num-layers 18: network " + std::string(row.name)));
  CHECK_THROWS_WITH(build_model("resnet", {.num_layers = 18}), Catch::Matchers::Contains("lenet, mlp"));
}
