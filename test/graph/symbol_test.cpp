// Composition by name, automatic names and inputs, parameter errors, and shape inference in both directions.
#include "runtime/symbol/symbol.hpp"

#include "kernels/base/error.hpp"
#include "runtime/operators/operator.hpp"
#include "test/support/catch.hpp"

using namespace cohort;
using Catch::Matchers::Contains;
using Names = std::vector<std::string>;

namespace {

Symbol var(const std::string& name, const std::string& shape = {}) {
  return Symbol::variable(name, shape.empty() ? Attributes{} : Attributes{{"__shape__", shape}});
}

Shape reshaped(const Shape& source, const std::string& codes, bool reverse = false) {
  NameCounter names;
  const Symbol net =
      Symbol::create(names, "Reshape", {var("x")}, {{"shape", codes}, {"reverse", reverse ? "True" : "False"}});
  return net.infer_shapes({{"x", source}}).outputs[0];
}

}  // namespace

TEST_CASE("automatic names count per lower-cased name and leave given names out") {
  NameCounter names;
  const Symbol x = var("x");
  const auto named = [&](const char* op, const Attributes& parameters = {}, const std::string& name = {}) {
    const OperatorRow& row = operator_named(op);
    const std::size_t inputs = row.inputs(row.parse(parameters)).size();
    return Symbol::create(names, op, std::vector<Symbol>(inputs, x), parameters, name).heads()[0].node->name;
  };
  CHECK(named("Activation", {{"act_type", "relu"}}) == "activation0");
  CHECK(named("Activation", {{"act_type", "relu"}}, "mine") == "mine");
  CHECK(named("Activation", {{"act_type", "tanh"}}) == "activation1");
  CHECK(named("elemwise_add") == "_plus0");
  CHECK(named("_Plus") == "_plus1");
  CHECK(named("_Minus") == "_minus0");
  CHECK(named("_PlusScalar", {{"scalar", "2"}}) == "_plusscalar0");
  CHECK(named("Softmax") == "softmax0");
  CHECK(named("flatten") == "flatten0");
}

TEST_CASE("inputs come by position or by name, the others become variables") {
  NameCounter names;
  const Symbol net = Symbol::create(names, "FullyConnected", {var("data")},
                                    {{"num_hidden", "3"}, {"__lr_mult__", "0.5"}}, "fc", {{"bias", var("shared")}});
  CHECK(net.list_arguments() == Names{"data", "fc_weight", "shared"});
  CHECK(net.list_outputs() == Names{"fc_output"});
  CHECK(net.list_auxiliary_states().empty());
  CHECK(net.attribute("fc_weight", "lr_mult") == "0.5");
  CHECK(net.attribute("fc", "num_hidden") == "3");
  CHECK_FALSE(net.attribute("shared", "lr_mult").has_value());
  CHECK_FALSE(net.attribute("fc_weight", "num_hidden").has_value());

  const auto create = [&](const std::vector<Symbol>& inputs, const std::map<std::string, Symbol>& named) {
    return Symbol::create(names, "FullyConnected", inputs, {{"num_hidden", "3"}, {"no_bias", "1"}}, "fc", named);
  };
  CHECK_THROWS_WITH(create({var("a")}, {{"data", var("b")}}), Contains("'data' was given twice"));
  CHECK_THROWS_WITH(create({}, {{"bias", var("b")}}), Contains("FullyConnected: it has no input 'bias'"));
  CHECK_THROWS_WITH(create({var("a"), var("b"), var("c")}, {}), Contains("3 inputs were given, but it takes 2"));
  CHECK_THROWS_WITH(create({Symbol::group({var("a"), var("b")})}, {}), Contains("an input with 2 outputs"));
}

TEST_CASE("arguments stand in depth-first post-order, each once") {
  NameCounter names;
  const Symbol a = var("a");
  const Symbol b = var("b");
  const Symbol left = Symbol::create(names, "elemwise_mul", {b, a}, {}, "left");
  const Symbol right = Symbol::create(names, "add_n", {var("c"), left, a}, {}, "right");
  const Symbol net = Symbol::group({right, left});
  CHECK(net.list_arguments() == Names{"c", "b", "a"});
  CHECK(net.list_outputs() == Names{"right_output", "left_output"});
  CHECK(net.attribute("right", "num_args") == "3");
}

TEST_CASE("parameter errors name the operator, the parameter and what would do") {
  NameCounter names;
  const auto message = [&](const char* op, const Attributes& parameters) -> std::string {
    try {
      Symbol::create(names, op, {}, parameters);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      return error.message();
    }
    return {};
  };
  CHECK(message("Convolution", {{"num_filter", "3"}}) == "Convolution: kernel is required");
  CHECK(message("FullyConnected", {{"num_hidden", "3"}, {"units", "4"}, {"bias", "1"}}) ==
        "FullyConnected: unknown parameter bias, units; it has num_hidden, no_bias, flatten");
  CHECK(message("FullyConnected", {{"num_hidden", "three"}}) ==
        "FullyConnected: num_hidden is 'three', but a whole number is needed");
  CHECK(message("FullyConnected", {{"num_hidden", "0"}}) ==
        "FullyConnected: num_hidden is 0, but at least 1 is needed");
  CHECK(message("FullyConnected", {{"num_hidden", "3"}, {"no_bias", "yes"}}) ==
        "FullyConnected: no_bias is 'yes', but True or False is needed");
  CHECK(message("Activation", {{"act_type", "gelu"}}) ==
        "Activation: act_type is 'gelu', but one of relu, sigmoid, tanh, softrelu, softsign is needed");
  CHECK(message("Convolution", {{"num_filter", "3"}, {"kernel", "(3, x)"}}) ==
        "Convolution: kernel is '(3, x)', but a tuple of whole numbers is needed");
  CHECK(message("SoftmaxOutput", {{"grad_scale", "1e"}}) ==
        "SoftmaxOutput: grad_scale is '1e', but a finite number is needed");
  CHECK_THAT(message("Convolutoin", {}), Contains("there is no operator 'Convolutoin'"));
  const Symbol line = Symbol::create(names, "Convolution", {var("x")}, {{"kernel", "(3,)"}, {"num_filter", "2"}});
  CHECK_THROWS_WITH(line.infer_shapes({{"x", {1, 2, 9}}}), Contains("kernel is (3,), but only two-dimensional"));
}

TEST_CASE("tuples parse in every form that files hold") {
  const auto parsed = [](const char* text) { return parse_tuple(text, "it"); };
  CHECK(parsed("(3, 3)") == Shape{3, 3});
  CHECK(parsed("[3,4]") == Shape{3, 4});
  CHECK(parsed("(3L,5L)") == Shape{3, 5});
  CHECK(parsed("(3,)") == Shape{3});
  CHECK(parsed("7") == Shape{7});
  CHECK(parsed("()") == Shape{});
  CHECK(parsed(" ( -1 , 0 ) ") == Shape{-1, 0});
}

TEST_CASE("shapes flow forward and backward") {
  NameCounter names;
  const Symbol conv = Symbol::create(names, "Convolution", {var("x")},
                                     {{"kernel", "(3, 3)"}, {"num_filter", "8"}, {"pad", "(1, 1)"}}, "conv");
  const Symbol sum = Symbol::create(names, "elemwise_add", {conv, var("y")});
  const InferredShapes forward = sum.infer_shapes({{"x", {2, 3, 5, 7}}});
  CHECK(forward.arguments == std::vector<Shape>{{2, 3, 5, 7}, {8, 3, 3, 3}, {8}, {2, 8, 5, 7}});
  CHECK(forward.outputs == std::vector<Shape>{{2, 8, 5, 7}});
  // From the output, a stride of 1 and the weight's channels.
  const InferredShapes backward = sum.infer_shapes({{"y", {2, 8, 5, 7}}, {"conv_weight", {8, 3, 3, 3}}});
  CHECK(backward.arguments == forward.arguments);
  // Known extents of two partial shapes complete each other.
  const Symbol halves = Symbol::create(names, "elemwise_add", {var("a", "(2, 0)"), var("b", "(0, 3)")});
  CHECK(halves.infer_shapes({}).arguments == std::vector<Shape>{{2, 3}, {2, 3}});
  CHECK_THROWS_WITH(conv.infer_shapes({}),
                    Contains("shapes that stay unknown: x (0, 0, 0, 0), conv_weight (8, 0, 3, 3)"));
}

TEST_CASE("contradictions name the node") {
  NameCounter names;
  const Symbol dense = Symbol::create(names, "FullyConnected", {var("x")}, {{"num_hidden", "4"}}, "dense");
  CHECK_THROWS_WITH(dense.infer_shapes({{"x", {2, 3}}, {"dense_weight", {4, 5}}}),
                    Contains("node 'dense' (FullyConnected): weight has shape (4, 5), but (4, 3) is needed"));
  const Symbol loss = Symbol::create(names, "SoftmaxOutput", {dense}, {}, "loss");
  CHECK_THROWS_WITH(loss.infer_shapes({{"x", {2, 3}}, {"loss_label", {5}}}),
                    Contains("node 'loss' (SoftmaxOutput): label has shape (5,)"));
  const Symbol pool = Symbol::create(names, "Pooling", {var("x")}, {{"kernel", "(4, 4)"}}, "pool");
  CHECK_THROWS_WITH(pool.infer_shapes({{"x", {1, 1, 3, 3}}}), Contains("node 'pool' (Pooling): the window covers 4"));
  const Symbol groups = Symbol::create(names, "Convolution", {var("x")},
                                       {{"kernel", "(1, 1)"}, {"num_filter", "4"}, {"num_group", "2"}}, "groups");
  CHECK_THROWS_WITH(groups.infer_shapes({{"x", {1, 3, 3, 3}}}), Contains("3 channels, no multiple of num_group 2"));
}

TEST_CASE("pooling rounds down by valid and up by full") {
  NameCounter names;
  const auto out = [&](const char* convention) {
    const Symbol pool = Symbol::create(
        names, "Pooling", {var("x")}, {{"kernel", "(2, 2)"}, {"stride", "(2, 2)"}, {"pooling_convention", convention}});
    return pool.infer_shapes({{"x", {1, 2, 5, 6}}}).outputs[0];
  };
  CHECK(out("valid") == Shape{1, 2, 2, 3});
  CHECK(out("full") == Shape{1, 2, 3, 3});
}

TEST_CASE("reshape codes") {
  const Shape source{2, 3, 4};
  CHECK(reshaped(source, "(4, 0, 2)") == Shape{4, 3, 2});
  CHECK(reshaped(source, "(-1, 0)") == Shape{8, 3});
  CHECK(reshaped(source, "(-1, 0)", true) == Shape{6, 4});
  CHECK(reshaped(source, "(-2,)") == source);
  CHECK(reshaped(source, "(-3, 4)") == Shape{6, 4});
  CHECK(reshaped(source, "(-4, 1, 2, -2)") == Shape{1, 2, 3, 4});
  CHECK(reshaped(source, "(0, -3)") == Shape{2, 12});
  CHECK(reshaped(source, "(0, -4, -1, 3, 4)") == Shape{2, 1, 3, 4});
  CHECK_THROWS_WITH(reshaped(source, "(5, 0)"), Contains("cannot take shape (5, 3)"));
  CHECK_THROWS_WITH(reshaped(source, "(-1, -1)"), Contains("only one axis"));
  CHECK_THROWS_WITH(reshaped(source, "(-4, 2)"), Contains("two numbers after it"));
  CHECK_THROWS_WITH(reshaped(source, "(0, 0, 0, 0)"), Contains("more axes than data has"));
  NameCounter names;
  const Symbol legacy =
      Symbol::create(names, "Reshape", {var("x")}, {{"target_shape", "(7, 0)"}, {"keep_highest", "True"}});
  CHECK(legacy.infer_shapes({{"x", source}}).outputs[0] == Shape{2, 12});
}

TEST_CASE("labels follow their data, and other fitting forms are accepted") {
  NameCounter names;
  const auto label = [&](const char* op, const Shape& data, const Attributes& parameters = {}) {
    return Symbol::create(names, op, {var("x")}, parameters, "out").infer_shapes({{"x", data}}).arguments[1];
  };
  CHECK(label("SoftmaxOutput", {5, 3}) == Shape{5});
  CHECK(label("SoftmaxOutput", {5, 3, 2, 2}, {{"multi_output", "True"}}) == Shape{5, 4});
  CHECK(label("SoftmaxOutput", {5, 6, 3}, {{"preserve_shape", "True"}}) == Shape{5, 6});
  CHECK(label("LinearRegressionOutput", {5, 1}) == Shape{5});
  CHECK(label("LinearRegressionOutput", {5, 2}) == Shape{5, 2});
  const Symbol softmax = Symbol::create(names, "SoftmaxOutput", {var("x")}, {}, "out");
  CHECK_NOTHROW(softmax.infer_shapes({{"x", {5, 3}}, {"out_label", {5, 3}}}));
  CHECK_NOTHROW(softmax.infer_shapes({{"x", {5, 3}}, {"out_label", {5, 1}}}));
}

TEST_CASE("a chain of thousands of nodes is walked without deep recursion") {
  NameCounter names;
  Symbol net = var("x");
  for (int i = 0; i < 20000; ++i) net = Symbol::create(names, "_copy", {net});
  CHECK(net.nodes().size() == 20001);
  CHECK(net.infer_shapes({{"x", {2}}}).outputs[0] == Shape{2});
}
