// Symbol files: what is written can be read, old generations are upgraded, bad files are named with what is wrong.
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/base/error.hpp"
#include "runtime/models/models.hpp"
#include "runtime/symbol/symbol.hpp"
#include "test/support/catch.hpp"

using namespace cohort;
using Catch::Matchers::Contains;
using Json = nlohmann::json;
using Names = std::vector<std::string>;

namespace {

// The text of a real model file, empty (with a visible warning) where none are at hand.
std::string real_file(const std::string& name) {
  const char* folder = std::getenv("COHORT_TEST_DATA");
  if (folder == nullptr) {
    WARN("COHORT_TEST_DATA is not set: skipped " << name);
    return {};
  }
  std::ifstream file(std::string(folder) + "/mxnet-models/" + name);
  REQUIRE(file.good());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string message(const std::string& text) {
  try {
    Symbol::from_json(text, "net.json");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.message();
  }
  return {};
}

// A file of the 0.8 generation; `fc` is the operator's own member list.
std::string old_file(const std::string& fc) {
  return R"({"nodes": [
    {"op": "null", "param": {}, "name": "data", "inputs": [], "backward_source_id": -1,
     "attr": {"ctx_group": "stage1", "lr_mult": "0.2"}},
    {"op": "null", "param": {}, "name": "fc1_weight", "inputs": [], "backward_source_id": -1,
     "attr": {"wd_mult": "0.3", "weight_lr_mult": "1.2"}},
    {"op": "null", "param": {}, "name": "fc1_bias", "inputs": [], "backward_source_id": -1},
    {"op": "FullyConnected", "param": {"no_bias": "False", "num_hidden": "128"}, "name": "fc1",
     "inputs": [[0, 0], [1, 0], [2, 0]], "backward_source_id": -1)" +
         fc + R"(},
    {"op": "Softmax", "param": {"grad_scale": "1"}, "name": "softmax", "inputs": [[3, 0]], "backward_source_id": -1}],
    "arg_nodes": [0, 1, 2], "heads": [[4, 0]]})";
}

}  // namespace

TEST_CASE("a symbol survives being written and read") {
  for (const ModelRow& row : model_table()) {
    const Symbol net = row.build({});
    const std::string text = net.to_json();
    const Symbol read = Symbol::from_json(text, "text");
    CHECK(read.list_arguments() == net.list_arguments());
    CHECK(read.list_outputs() == net.list_outputs());
    CHECK(read.to_json() == text);
  }
}

TEST_CASE("the 1.x form is written") {
  NameCounter names;
  const Symbol relu = Symbol::create(names, "Activation", {Symbol::variable("x")}, {{"act_type", "relu"}});
  const Symbol net = Symbol::create(names, "_Plus", {relu, relu}, {{"__lr_mult__", "2"}}, "sum");
  CHECK(Json::parse(net.to_json()) == Json::parse(R"({
    "nodes": [
      {"op": "null", "name": "x", "inputs": []},
      {"op": "Activation", "name": "activation0", "attrs": {"act_type": "relu"}, "inputs": [[0, 0, 0]]},
      {"op": "elemwise_add", "name": "sum", "attrs": {"__lr_mult__": "2"}, "inputs": [[1, 0, 0], [1, 0, 0]]}],
    "arg_nodes": [0], "node_row_ptr": [0, 1, 2, 3], "heads": [[2, 0, 0]],
    "attrs": {"mxnet_version": ["int", 10900]}})"));
}

TEST_CASE("files of the 0.8 generation are upgraded") {
  const Symbol net = Symbol::from_json(
      old_file(R"(, "attr": {"ctx_group": "stage1", "weight_lr_mult": "1.2", "colour": "red"})"), "old.json");
  // The missing label input becomes a variable, as do missing auxiliary states.
  CHECK(net.list_arguments() == Names{"data", "fc1_weight", "fc1_bias", "softmax_label"});
  CHECK(net.attribute("data", "ctx_group") == "stage1");
  const Json written = Json::parse(net.to_json());
  CHECK(written["nodes"][0]["attrs"] == Json{{"__ctx_group__", "stage1"}, {"__lr_mult__", "0.2"}});
  // From the operator's weight_lr_mult; the variable's own key of that name means nothing and stays.
  CHECK(written["nodes"][1]["attrs"] ==
        Json{{"__lr_mult__", "1.2"}, {"__wd_mult__", "0.3"}, {"weight_lr_mult", "1.2"}});
  CHECK(written["nodes"][3]["attrs"] ==
        Json{{"__colour__", "red"}, {"__ctx_group__", "stage1"}, {"no_bias", "False"}, {"num_hidden", "128"}});
  CHECK(written["nodes"][5]["op"] == "SoftmaxOutput");
}

TEST_CASE("files of the 0.9 to 0.11 generation keep parameters in attr") {
  const std::string text = R"({"nodes": [
    {"op": "null", "name": "data", "inputs": []},
    {"op": "null", "name": "w", "attr": {"num_hidden": "3", "lr_mult": "2"}, "inputs": []},
    {"op": "FullyConnected", "name": "fc", "attr": {"num_hidden": "3", "no_bias": "True"},
     "inputs": [[0, 0, 0], [1, 0, 0]]}],
    "arg_nodes": [0, 1], "node_row_ptr": [0, 1, 2, 3], "heads": [[2, 0, 0]], "attrs": {"mxnet_version": ["int", 1000]}})";
  const Symbol net = Symbol::from_json(text, "text");
  CHECK(net.infer_shapes({{"data", {5, 4}}}).arguments == std::vector<Shape>{{5, 4}, {3, 4}});
  CHECK(net.attribute("w", "lr_mult") == "2");
}

TEST_CASE("what is wrong with a file is said, with its name") {
  CHECK_THAT(message("{\"nodes\": ["), Contains("net.json: not a symbol file") && Contains("column 12"));
  CHECK_THAT(message("[]"), Contains("a JSON object is needed"));
  CHECK_THAT(message("{}"), Contains("net.json: the file has no 'nodes'"));
  const auto nodes = [](const std::string& list, const std::string& heads = "[[0, 0, 0]]") {
    return message(R"({"attrs": {"mxnet_version": ["int", 10900]}, "nodes": [)" + list + R"(], "heads": )" + heads +
                   "}");
  };
  CHECK_THAT(nodes(R"({"op": "null", "inputs": []})"), Contains("node 0 has no 'name'"));
  CHECK_THAT(nodes(R"({"op": "null", "name": "x"})"), Contains("node 'x' has no 'inputs'"));
  CHECK_THAT(nodes(R"({"op": "Flatten", "name": "f", "inputs": [[1, 0, 0]]})"),
             Contains("node 'f' refers to node 1, which does not stand before it"));
  CHECK_THAT(nodes(R"({"op": "Flatten", "name": "f", "inputs": [7]})"), Contains("node 'f' holds 7"));
  CHECK_THAT(nodes(R"({"op": "BatchNorm", "name": "bn0", "inputs": []})"),
             Contains("net.json: node 'bn0' uses operator 'BatchNorm', which is not available"));
  const std::string x = R"({"op": "null", "name": "x", "inputs": []})";
  CHECK_THAT(nodes(x + R"(, {"op": "Flatten", "name": "f", "inputs": [[0, 0, 0], [0, 0, 0]]})"),
             Contains("node 'f': 2 inputs are given, but it takes 1"));
  CHECK_THAT(nodes(x + R"(, {"op": "Convolution", "name": "c", "attrs": {"num_filter": "2"}, "inputs": [[0, 0, 0]]})"),
             Contains("node 'c': Convolution: kernel is required"));
  CHECK_THAT(nodes(x, "[[0, 1, 0]]"), Contains("refers to output 1 of node 'x', which has 1"));
  CHECK_THAT(nodes(x, "[]"), Contains("it has no heads"));
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  CHECK_THAT(nodes(x, deep), Contains("net.json: not a symbol file: it nests deeper than"));
  CHECK_THAT(nodes(R"({"op": "Flatten", "name": "f", "inputs": )" + deep + "}"), Contains("nests deeper than"));
}

TEST_CASE("two variables of one name are refused, also one that the loader adds") {
  const auto variable = [](const std::string& name) {
    return R"({"op": "null", "name": ")" + name + R"(", "inputs": []}, )";
  };
  CHECK(message(R"({"nodes": [)" + variable("x") + variable("x") +
                R"({"op": "elemwise_add", "name": "sum", "inputs": [[0, 0], [1, 0]]}], "heads": [[2, 0]]})") ==
        "net.json: two variables have the name 'x'");
  const std::string softmax = R"({"op": "Softmax", "param": {}, "name": "softmax", "inputs": [[0, 0]]})";
  CHECK(message(R"({"nodes": [)" + variable("softmax_label") + softmax + R"(], "heads": [[1, 0]]})") ==
        "net.json: node 'softmax': input label would be a second variable 'softmax_label'");
  CHECK(
      message(R"({"nodes": [)" + variable("x") + softmax + R"(, {"op": "null", "name": "softmax_label", "inputs": []}],
                "heads": [[1, 0]]})") == "net.json: two variables have the name 'softmax_label'");
}

TEST_CASE("sizes that no memory holds are refused with the node") {
  const auto shapes_error = [](const std::string& node, const Shape& data) {
    try {
      Symbol::from_json(R"({"attrs": {"mxnet_version": ["int", 10900]}, "nodes": [
          {"op": "null", "name": "x", "inputs": []}, {"op": "null", "name": "w", "inputs": []}, )" +
                            node + R"(], "heads": [[2, 0, 0]]})",
                        "net.json")
          .infer_shapes({{"x", data}});
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      return error.message();
    }
    return std::string("nothing was thrown");
  };
  const auto dense = [](const std::string& hidden) {
    return R"({"op": "FullyConnected", "name": "fc", "attrs": {"num_hidden": ")" + hidden +
           R"(", "no_bias": "True"}, "inputs": [[0, 0, 0], [1, 0, 0]]})";
  };
  CHECK(shapes_error(dense("99999999999"), {1, 4}) ==
        "net.json: node 'fc': FullyConnected: num_hidden has 99999999999, but numbers end at 2147483647");
  CHECK(shapes_error(dense("99999999999999999999"), {1, 4}) ==
        "net.json: node 'fc': FullyConnected: num_hidden is '99999999999999999999', but a whole number is needed");
  // Within the limit, but not times the width of the data.
  CHECK(shapes_error(dense("2147483647"), {1, 4096}) ==
        "node 'fc' (FullyConnected): an array of shape (2147483647, 4096) is too large");
  CHECK(shapes_error(R"json({"op": "Convolution", "name": "conv", "attrs": {"num_filter": "2147483647",
                         "no_bias": "True", "kernel": "(2147483647, 2147483647)", "pad": "(2147483647, 2147483647)"},
                         "inputs": [[0, 0, 0], [1, 0, 0]]})json",
                     {1, 3, 28, 28})
            .find("node 'conv' (Convolution): an array of shape (") == 0);
  CHECK(shapes_error(R"json({"op": "Reshape", "name": "r", "attrs": {"shape": "(4294967296, -1)"},
                         "inputs": [[0, 0, 0]]})json",
                     {1, 4}) == "net.json: node 'r': Reshape: shape has 4294967296, but numbers end at 2147483647");
  CHECK(shapes_error(R"({"op": "Flatten", "name": "flat", "inputs": [[0, 0, 0]]})",
                     {2, std::int64_t{1} << 40, std::int64_t{1} << 40}) ==
        "node 'flat' (Flatten): an array of shape (2, 1099511627776, 1099511627776) is too large");
  CHECK(shapes_error(R"({"op": "add_n", "name": "sum", "attrs": {"num_args": "2147483647"}, "inputs": [[0, 0, 0]]})",
                     {1, 4}) == "net.json: node 'sum': num_args is 2147483647, but 1 inputs are given");
}

TEST_CASE("real files of MXNet") {
  const std::string lenet = real_file("LeNet-symbol.json");
  if (lenet.empty()) return;
  const Symbol net = Symbol::from_json(lenet, "LeNet-symbol.json");
  CHECK(net.list_arguments() == Names{"data", "conv1_weight", "conv1_bias", "conv2_weight", "conv2_bias", "fc1_weight",
                                      "fc1_bias", "fc2_weight", "fc2_bias", "fc3_weight", "fc3_bias", "softmax_label"});
  const InferredShapes shapes = net.infer_shapes({{"data", {64, 1, 28, 28}}});
  CHECK(shapes.outputs == std::vector<Shape>{{64, 10}});
  CHECK(shapes.arguments[5] == Shape{120, 256});
  CHECK(Json::parse(net.to_json())["heads"] == Json::parse(lenet)["heads"]);
  // Their operators are not there yet; the message says which node needs what.
  CHECK_THAT(message(real_file("det1-symbol.json")), Contains("node 'prelu1' uses operator 'LeakyReLU'"));
  CHECK_THAT(message(real_file("save_000800.json")), Contains("node 'batchnorm0' uses operator 'BatchNorm'"));
}
