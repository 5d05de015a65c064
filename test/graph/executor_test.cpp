// The executor: shared weights, branches, requests, hooks, layouts, shared memory, and what it refuses.
#include "runtime/executor/executor.hpp"

#include "kernels/base/error.hpp"
#include "runtime/models/models.hpp"
#include "test/graph/graph_support.hpp"
#include "test/support/catch.hpp"
#include "test/support/compute_threads.hpp"

using namespace cohort;
using namespace cohort::test;
using Catch::Matchers::Contains;
using Values = std::vector<float>;

namespace {

// out = MakeLoss((x W^T) W^T + x), W used twice, x branching.
Symbol shared_weight_net(NameCounter& names) {
  const Symbol x = Symbol::variable("x");
  const Symbol w = Symbol::variable("w");
  const Attributes square{{"num_hidden", "2"}, {"no_bias", "True"}};
  const Symbol first = Symbol::create(names, "FullyConnected", {x, w}, square, "first");
  const Symbol second = Symbol::create(names, "FullyConnected", {first, w}, square, "second");
  return Symbol::create(names, "MakeLoss", {Symbol::create(names, "elemwise_add", {second, x})}, {}, "loss");
}

std::vector<std::string> reported(Executor& executor, const std::vector<std::string>& order) {
  std::vector<std::string> names;
  executor.on_gradient_ready([&](std::size_t i) { names.push_back(order.at(i)); });
  executor.forward(true);
  executor.backward();
  executor.on_gradient_ready({});
  return names;
}

void fill_all(const Executor& executor, const std::vector<std::string>& labels) {
  int seed = 1;
  for (const auto& [name, array] : executor.arguments()) {
    const bool label = std::find(labels.begin(), labels.end(), name) != labels.end();
    Values values = quarters(array.count(), seed++);
    for (float& value : values) value = label ? std::abs(value * 4) : value / 8;
    set(executor, name, values);
  }
}

}  // namespace

TEST_CASE("a weight used twice and a branch get the sum of their gradients") {
  Context context(cpu_backend());
  NameCounter names;
  const Symbol net = shared_weight_net(names);
  Executor executor(net, context, cpu(), bind_options(net, context, {{"x", {1, 2}}}));
  set(executor, "x", {1, 2});
  set(executor, "w", {1, 3, -2, 1});
  executor.forward(true);
  // h = x W^T = (7, 0); y = h W^T = (7, -14); out = y + x.
  CHECK(executor.outputs()[0].values() == Values{8, -12});
  executor.backward();
  // dh = (1, 1) W = (-1, 4); dW = (1,1)^T h + dh^T x; dx = dh W + (1, 1).
  CHECK(executor.gradients().at("w").values() == Values{7 - 1, 0 - 2, 7 + 4, 0 + 8});
  CHECK(executor.gradients().at("x").values() == Values{-9 + 1, 1 + 1});
}

TEST_CASE("the request add accumulates, write overwrites, null leaves alone") {
  Context context(cpu_backend());
  NameCounter names;
  const Symbol net = shared_weight_net(names);
  BindOptions options = bind_options(net, context, {{"x", {1, 2}}});
  options.gradients.at("w").fill(100);
  options.gradients.at("x").fill(5);
  options.requests = {{"w", GradRequest::add}, {"x", GradRequest::null}};
  Executor executor(net, context, cpu(), options);
  set(executor, "x", {1, 2});
  set(executor, "w", {1, 3, -2, 1});
  for (int step = 1; step <= 2; ++step) {
    executor.forward(true);
    executor.backward();
    const float times = static_cast<float>(step);
    CHECK(options.gradients.at("w").values() ==
          Values{100 + 6 * times, 100 - 2 * times, 100 + 11 * times, 100 + 8 * times});
  }
  CHECK(options.gradients.at("x").values() == Values{5, 5});
}

TEST_CASE("gradients are reported once each, in gradient_order, a shared weight after its last use") {
  Context context(cpu_backend());
  NameCounter names;
  const Symbol net = shared_weight_net(names);
  Executor executor(net, context, cpu(), bind_options(net, context, {{"x", {1, 2}}}));
  const std::vector<std::string> order = gradient_order(net, {});
  CHECK(order == std::vector<std::string>{"x", "w"});
  CHECK(reported(executor, order) == order);

  const Symbol lenet = build_model("lenet", {});
  const std::vector<std::string> lenet_order = gradient_order(lenet, {"data", "softmax_label"});
  CHECK(lenet_order == std::vector<std::string>{"fullyconnected1_weight", "fullyconnected1_bias",
                                                "fullyconnected0_weight", "fullyconnected0_bias", "convolution1_weight",
                                                "convolution1_bias", "convolution0_weight", "convolution0_bias"});
  const auto bound = Executor::simple_bind(lenet, context, cpu(), {{"data", {2, 1, 28, 28}}, {"softmax_label", {2}}});
  CHECK(reported(*bound, lenet_order) == lenet_order);
}

TEST_CASE("when a gradient is reported it is final, and its argument may be overwritten") {
  Context context(cpu_backend());
  NameCounter names;
  // a * b with b blocked: b gets no gradient, but is read for that of a, and both feed a pass-through sum.
  const Symbol a = Symbol::variable("a");
  const Symbol b = Symbol::variable("b");
  const Symbol c = Symbol::variable("c");
  const Symbol blocked = Symbol::create(names, "BlockGrad", {b});
  const Symbol product = Symbol::create(names, "elemwise_mul", {a, blocked});
  const Symbol squared = Symbol::create(names, "elemwise_mul", {product, product});
  const Symbol sum = Symbol::create(names, "elemwise_add", {squared, c});
  const Symbol net = Symbol::create(names, "MakeLoss", {sum}, {{"grad_scale", "2"}});
  BindOptions options = bind_options(net, context, {{"a", {3}}});
  options.gradients.at("b").fill(7);
  Executor executor(net, context, cpu(), options);
  set(executor, "a", {1, 2, 3});
  set(executor, "b", {2, 4, -1});
  const std::vector<std::string> order = gradient_order(net, {});
  std::map<std::string, Values> seen;
  executor.on_gradient_ready([&](std::size_t i) {
    seen.emplace(order[i], options.gradients.at(order[i]).values());
    options.gradients.at(order[i]).fill(1000);
    options.arguments.at(order[i]).fill(1000);
    context.wait_all();
  });
  executor.forward(true);
  executor.backward();
  CHECK(seen.at("c") == Values{2, 2, 2});
  CHECK(seen.at("b") == Values{0, 0, 0});
  CHECK(seen.at("a") == Values{2 * 2 * 2 * 2 * 1, 2 * 2 * 4 * 4 * 2, 2 * 2 * 3});
  for (const auto& [name, gradient] : options.gradients) CHECK(gradient.values() == Values{1000, 1000, 1000});
}

TEST_CASE("one gradient that reaches two arguments unchanged is written to both") {
  Context context(cpu_backend());
  NameCounter names;
  const Symbol sum = Symbol::create(names, "elemwise_add", {Symbol::variable("a"), Symbol::variable("b")});
  const Symbol net = Symbol::create(names, "MakeLoss", {sum}, {{"grad_scale", "3"}});
  BindOptions options = bind_options(net, context, {{"a", {2}}});
  Executor executor(net, context, cpu(), options);
  const std::vector<std::string> order = gradient_order(net, {});
  std::map<std::string, Values> seen;
  executor.on_gradient_ready([&](std::size_t i) {
    seen.emplace(order[i], options.gradients.at(order[i]).values());
    options.gradients.at(order[i]).fill(0);
    context.wait_all();
  });
  executor.forward(true);
  executor.backward();
  CHECK(seen.at("a") == Values{3, 3});
  CHECK(seen.at("b") == Values{3, 3});
}

TEST_CASE("head gradients are read where a head is no loss, and not changed") {
  Context context(cpu_backend());
  NameCounter names;
  const Symbol x = Symbol::variable("x");
  const Symbol net = Symbol::group({x, Symbol::create(names, "_mul_scalar", {x}, {{"scalar", "2"}}, "twice")});
  Executor executor(net, context, cpu(), bind_options(net, context, {{"x", {2}}}));
  set(executor, "x", {1, 5});
  executor.forward(true);
  CHECK(executor.outputs()[0].values() == Values{1, 5});
  CHECK(executor.outputs()[1].values() == Values{2, 10});
  CHECK_THROWS_WITH(executor.backward(), Contains("output 'x' is no loss"));
  const NDArray first = NDArray::from_values(context, {2}, Values{1, 2});
  const NDArray second = NDArray::from_values(context, {2}, Values{10, 20});
  CHECK_THROWS_WITH(executor.backward({first}), Contains("1 head gradients were given, but the symbol has 2 heads"));
  executor.backward({first, second});
  CHECK(executor.gradients().at("x").values() == Values{21, 42});
  CHECK(first.values() == Values{1, 2});
  CHECK(second.values() == Values{10, 20});
  CHECK_THROWS_WITH(executor.backward({first, second}), Contains("needs a forward"));
}

TEST_CASE("outputs are the same arrays at every call and never an argument's") {
  Context context(cpu_backend());
  NameCounter names;
  const Symbol net = Symbol::create(names, "Flatten", {Symbol::variable("x")});
  Executor executor(net, context, cpu(), bind_options(net, context, {{"x", {1, 2, 1}}}));
  const NDArray out = executor.outputs()[0];
  set(executor, "x", {1, 2});
  executor.forward(false);
  CHECK(out.values() == Values{1, 2});
  CHECK(out.shape() == Shape{1, 2});
  CHECK(out.buffer() != executor.arguments().at("x").buffer());
  set(executor, "x", {3, 4});
  executor.forward(false);
  CHECK(out.values() == Values{3, 4});
}

TEST_CASE("images are channels-last inside and row-major outside") {
  Context context(cpu_backend());
  NameCounter names;
  // A 1x1 convolution that swaps two channels, then per-channel maxima, with heads before and after.
  const Symbol data = Symbol::variable("data");
  const Symbol swap = Symbol::create(names, "Convolution", {data},
                                     {{"kernel", "(1, 1)"}, {"num_filter", "2"}, {"no_bias", "True"}}, "swap");
  const Symbol sum = Symbol::create(names, "elemwise_add", {swap, data});
  const Symbol pool = Symbol::create(names, "Pooling", {sum}, {{"kernel", "(1, 2)"}}, "pool");
  const Symbol net = Symbol::group({swap, Symbol::create(names, "Flatten", {pool})});
  Executor executor(net, context, cpu(), bind_options(net, context, {{"data", {1, 2, 1, 3}}}));
  set(executor, "data", {1, 2, 3, 10, 20, 30});
  set(executor, "swap_weight", {0, 1, 1, 0});
  executor.forward(true);
  CHECK(executor.outputs()[0].values() == Values{10, 20, 30, 1, 2, 3});
  CHECK(executor.outputs()[1].values() == Values{22, 33, 22, 33});
  executor.backward({NDArray::from_values(context, {1, 2, 1, 3}, Values{1, 2, 4, 8, 16, 32}),
                     NDArray::from_values(context, {1, 4}, Values{100, 200, 300, 400})});
  // The pooled gradient arrives at pixels 1 and 2 of both channels.
  const Values pooled{0, 100, 200, 0, 300, 400};
  CHECK(executor.gradients().at("data").values() ==
        Values{8, 16 + 300 + 100, 32 + 400 + 200, 1, 2 + 100 + 300, 4 + 200 + 400});
}

TEST_CASE("a weight that the graph computes is used in its newest state") {
  Context context(cpu_backend());
  NameCounter names;
  const Symbol weight = Symbol::create(names, "_mul_scalar", {Symbol::variable("w")}, {{"scalar", "2"}});
  const Symbol net = Symbol::create(names, "Convolution", {Symbol::variable("data"), weight},
                                    {{"kernel", "(1, 1)"}, {"num_filter", "1"}, {"no_bias", "True"}});
  Executor executor(net, context, cpu(), bind_options(net, context, {{"data", {1, 2, 1, 1}}}));
  set(executor, "data", {1, 10});
  for (const float scale : {1.0F, 3.0F, 5.0F}) {
    set(executor, "w", {scale, scale});
    executor.forward(true);
    CHECK(executor.outputs()[0].values() == Values{22 * scale});
  }
}

TEST_CASE("executors of several batch sizes share memory without changing results") {
  Context context(cpu_backend());
  const Symbol net = build_model("lenet", {});
  const auto shapes = [](std::int64_t batch) {
    return std::map<std::string, Shape>{{"data", {batch, 1, 28, 28}}, {"softmax_label", {batch}}};
  };
  const auto memory = make_executor_memory();
  std::map<std::int64_t, std::unique_ptr<Executor>> alone;
  std::map<std::int64_t, std::unique_ptr<Executor>> sharing;
  for (const std::int64_t batch : {13, 64}) {  // the smaller first: the block grows under it
    BindOptions options = bind_options(net, context, shapes(batch), {"data", "softmax_label"});
    alone[batch] = std::make_unique<Executor>(net, context, cpu(), options);
    options = bind_options(net, context, shapes(batch), {"data", "softmax_label"});
    options.memory = memory;
    sharing[batch] = std::make_unique<Executor>(net, context, cpu(), options);
    CHECK(alone[batch]->planned_bytes() < alone[batch]->unshared_bytes());
  }
  for (const std::int64_t batch : {64, 13, 64, 13}) {
    for (const auto& executor : {alone[batch].get(), sharing[batch].get()}) {
      fill_all(*executor, {"softmax_label"});
      executor->forward(true);
      executor->backward();
    }
    CHECK(alone[batch]->outputs()[0].values() == sharing[batch]->outputs()[0].values());
    for (const auto& [name, gradient] : alone[batch]->gradients())
      CHECK(gradient.values() == sharing[batch]->gradients().at(name).values());
  }
}

TEST_CASE("inference plans less memory and gives the training outputs") {
  const ComputeThreads alone(1);
  Context context(cpu_backend());
  const Symbol net = build_model("lenet", {.num_classes = 7, .image_shape = {3, 32, 32}});
  const std::map<std::string, Shape> shapes{{"data", {5, 3, 32, 32}}, {"softmax_label", {5}}};
  const auto training = Executor::simple_bind(net, context, cpu(), shapes);
  const auto inference = Executor::simple_bind(net, context, cpu(), shapes, false);
  CHECK(inference->planned_bytes() < training->planned_bytes() / 2);
  CHECK(inference->gradients().empty());
  for (const auto& executor : {training.get(), inference.get()}) fill_all(*executor, {"softmax_label"});
  training->forward(true);
  const Values trained = training->outputs()[0].values();
  training->forward(false);
  CHECK(training->outputs()[0].values() == trained);
  inference->forward(false);
  CHECK(inference->outputs()[0].values() == trained);
  CHECK_THROWS_WITH(inference->forward(true), Contains("bound for inference"));
}

TEST_CASE("the version of a gradient rises with every backward") {
  Context context(cpu_backend());
  NameCounter names;
  const Symbol net = shared_weight_net(names);
  Executor executor(net, context, cpu(), bind_options(net, context, {{"x", {1, 2}}}));
  const NDArray gradient = executor.gradients().at("w");
  const std::uint64_t before = gradient.version();
  executor.forward(true);
  CHECK(gradient.version() == before);
  executor.backward();
  CHECK(gradient.version() > before);
}

TEST_CASE("bind names the node whose array no memory holds") {
  Context context(cpu_backend());
  NameCounter names;
  // Small arrays that make one of 4 TB.
  constexpr std::int64_t side = std::int64_t{1} << 20;
  const Symbol net = Symbol::create(names, "FullyConnected", {Symbol::variable("x")},
                                    {{"num_hidden", std::to_string(side)}, {"no_bias", "True"}}, "fc");
  CHECK_THROWS_WITH(Executor::simple_bind(net, context, cpu(), {{"x", {side, 1}}}, false),
                    Contains("bind: node 'fc' of shape (1048576, 1048576) takes 4398046511104 bytes"));
}

TEST_CASE("bind names what is missing or does not fit") {
  Context context(cpu_backend());
  const Symbol net = build_model("mlp", {});
  const std::map<std::string, Shape> shapes{{"data", {2, 1, 28, 28}}, {"softmax_label", {2}}};
  const auto message = [&](const BindOptions& options) -> std::string {
    try {
      Executor(net, context, cpu(), options);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  BindOptions options = bind_options(net, context, shapes);
  options.arguments.erase("fc1_bias");
  CHECK_THAT(message(options), Contains("argument 'fc1_bias' is missing"));
  options = bind_options(net, context, shapes);
  options.arguments["fc9_bias"] = NDArray::zeros(context, {1});
  CHECK_THAT(message(options), Contains("no argument 'fc9_bias'"));
  options = bind_options(net, context, shapes);
  options.arguments["fc2_weight"] = NDArray::zeros(context, {64, 100});
  CHECK_THAT(message(options), Contains("node 'fc2'"));
  options = bind_options(net, context, shapes);
  options.gradients["fc2_weight"] = NDArray::zeros(context, {64, 100});
  CHECK_THAT(message(options), Contains("gradient 'fc2_weight' has shape (64, 100), but (64, 128) is needed"));
  NameCounter names;
  const Symbol twice = Symbol::create(names, "elemwise_add", {Symbol::variable("x"), Symbol::variable("x")});
  options = BindOptions{};
  options.arguments["x"] = NDArray::zeros(context, {1});
  CHECK_THROWS_WITH(Executor(twice, context, cpu(), options), Contains("two variables are named 'x'"));
}
