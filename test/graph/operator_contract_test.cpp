// Every row of the operator table: its gradient against differences of its forward, and its forward against itself
// when memory is shared and when it runs for inference.
#include <algorithm>
#include <cmath>
#include <functional>

#include "test/graph/graph_support.hpp"
#include "test/support/catch.hpp"

using namespace cohort;
using namespace cohort::test;

namespace {

// `loss`: the scalar whose derivative backward computes, from output and label; empty: the sum of output times a fixed
// head gradient.
struct Case {
  std::string op;
  Attributes parameters;
  std::map<std::string, Shape> shapes;
  std::function<double(const std::vector<float>& out, const std::vector<float>& label)> loss = {};
  std::vector<float> label = {};
  bool no_gradient = false;
};

double log_loss(const std::vector<float>& out, const std::vector<float>& label) {
  const std::size_t classes = out.size() / label.size();
  double sum = 0;
  for (std::size_t i = 0; i < label.size(); ++i)
    sum -= std::log(static_cast<double>(out[i * classes + static_cast<std::size_t>(label[i])]));
  return sum;
}

double half_square(const std::vector<float>& out, const std::vector<float>& label) {
  double sum = 0;
  for (std::size_t i = 0; i < out.size(); ++i) sum += 0.5 * (out[i] - label[i]) * (out[i] - label[i]);
  return sum;
}

double sum_of(const std::vector<float>& out, const std::vector<float>&) {
  double sum = 0;
  for (const float value : out) sum += value;
  return sum;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const char* kind : {"relu", "sigmoid", "tanh", "softrelu", "softsign"})
    list.push_back({"Activation", {{"act_type", kind}}, {{"data", {2, 3, 4, 3}}}});
  list.push_back({"add_n", {{"num_args", "3"}}, {{"arg0", {2, 3}}, {"arg1", {2, 3}}, {"arg2", {2, 3}}}});
  list.push_back({"add_n", {{"num_args", "1"}}, {{"arg0", {2, 3}}}});
  list.push_back({"BlockGrad", {}, {{"data", {2, 3}}}, {}, {}, true});
  list.push_back({"Convolution", {{"kernel", "(3, 2)"}, {"num_filter", "4"}}, {{"data", {2, 3, 5, 4}}}});
  list.push_back({"Convolution",
                  {{"kernel", "(3, 3)"},
                   {"num_filter", "4"},
                   {"num_group", "2"},
                   {"stride", "(2, 1)"},
                   {"pad", "(1, 0)"},
                   {"dilate", "(1, 2)"},
                   {"no_bias", "True"}},
                  {{"data", {2, 4, 6, 7}}}});
  list.push_back({"Convolution", {{"kernel", "(1, 1)"}, {"num_filter", "2"}}, {{"data", {3, 1, 3, 3}}}});
  for (const char* op : {"elemwise_add", "elemwise_sub", "elemwise_mul"})
    list.push_back({op, {}, {{"lhs", {2, 3, 2, 2}}, {"rhs", {2, 3, 2, 2}}}});
  list.push_back({"Flatten", {}, {{"data", {2, 3, 2, 2}}}});
  list.push_back({"FullyConnected", {{"num_hidden", "4"}}, {{"data", {3, 2, 5}}}});
  list.push_back({"FullyConnected", {{"num_hidden", "4"}, {"flatten", "False"}}, {{"data", {3, 2, 5}}}});
  list.push_back({"FullyConnected", {{"num_hidden", "3"}, {"no_bias", "True"}}, {{"data", {2, 6}}}});
  list.push_back({"_copy", {}, {{"data", {2, 3}}}});
  list.push_back({"LinearRegressionOutput", {}, {{"data", {4, 1}}}, half_square, {1, -1, 2, 0}});
  list.push_back({"MakeLoss", {}, {{"data", {2, 3}}}, sum_of});
  for (const char* op : {"_plus_scalar", "_mul_scalar"}) list.push_back({op, {{"scalar", "-1.5"}}, {{"data", {2, 3}}}});
  for (const char* kind : {"max", "avg", "sum"})
    for (const char* convention : {"valid", "full"})
      list.push_back({"Pooling",
                      {{"kernel", "(3, 2)"},
                       {"stride", "(2, 2)"},
                       {"pad", "(1, 0)"},
                       {"pool_type", kind},
                       {"pooling_convention", convention}},
                      {{"data", {2, 3, 6, 5}}}});
  list.push_back({"Pooling",
                  {{"kernel", "(2, 2)"}, {"pad", "(1, 1)"}, {"pool_type", "avg"}, {"count_include_pad", "False"}},
                  {{"data", {1, 2, 3, 3}}}});
  list.push_back({"Pooling", {{"global_pool", "True"}, {"pool_type", "avg"}}, {{"data", {2, 3, 4, 5}}}});
  list.push_back({"Reshape", {{"shape", "(-1, 2)"}}, {{"data", {2, 3, 2}}}});
  list.push_back({"SoftmaxOutput", {}, {{"data", {3, 4}}}, log_loss, {1, 3, 0}});
  return list;
}

class Check {
 public:
  explicit Check(const Case& test)
      : test_(test),
        context_(cpu_backend()),
        symbol_(Symbol::create(names_, test.op, inputs(), test.parameters, "op")) {
    executor_ = Executor::simple_bind(symbol_, context_, cpu(), {});
  }

  void run() {
    fill();
    executor_->forward(true);
    std::vector<NDArray> heads;
    if (!test_.loss)
      for (const NDArray& output : executor_->outputs()) {
        head_ = quarters(output.count(), 99);
        heads.push_back(NDArray::from_values(context_, output.shape(), head_));
      }
    executor_->backward(heads);
    std::map<std::string, std::vector<float>> gradients;
    for (const auto& [name, gradient] : executor_->gradients()) gradients.emplace(name, gradient.values());
    for (const auto& [name, gradient] : gradients)
      if (name != "label") compare(name, gradient);
  }

 private:
  // The shapes are on the variables, so that every argument gets a gradient.
  std::vector<Symbol> inputs() const {
    const OperatorRow& row = operator_named(test_.op);
    std::vector<Symbol> list;
    for (const std::string& name : row.inputs(row.parse(test_.parameters))) {
      const auto shape = test_.shapes.find(name);
      list.push_back(Symbol::variable(
          name, shape == test_.shapes.end() ? Attributes{} : Attributes{{"__shape__", to_string(shape->second)}}));
    }
    return list;
  }

  // Distinct values, so that maxima are unique over steps, and away from the kinks at 0.
  void fill() {
    int seed = 1;
    for (const auto& [name, array] : executor_->arguments()) {
      if (name == "label") {
        set(*executor_, name, test_.label);
        continue;
      }
      std::vector<float> values = quarters(array.count(), seed++);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] += 0.0625F + static_cast<float>(i % 7) / 64 + static_cast<float>(i) / 4096;
      set(*executor_, name, values);
    }
  }

  double objective() {
    executor_->forward(false);
    const std::vector<float> out = executor_->outputs()[0].values();
    if (test_.loss) return test_.loss(out, test_.label);
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += static_cast<double>(out[i]) * head_[i];
    return sum;
  }

  // Central differences with a power of two: the tolerance covers float32 rounding of the forward pass.
  void compare(const std::string& name, const std::vector<float>& gradient) {
    constexpr float step = 1.0F / 512;
    std::vector<float> values = executor_->arguments().at(name).values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float kept = values[i];
      values[i] = kept + step;
      set(*executor_, name, values);
      const double above = objective();
      values[i] = kept - step;
      set(*executor_, name, values);
      const double below = objective();
      values[i] = kept;
      const double expected = test_.no_gradient ? 0 : (above - below) / (2 * static_cast<double>(step));
      INFO(test_.op << " " << to_string(executor_->arguments().at(name).shape()) << " gradient of " << name << "[" << i
                    << "]");
      CHECK(gradient[i] == Approx(expected).margin(4e-3).epsilon(4e-3));
    }
    set(*executor_, name, values);
  }

  const Case& test_;
  Context context_;
  NameCounter names_;
  Symbol symbol_;
  std::unique_ptr<Executor> executor_;
  std::vector<float> head_;
};

}  // namespace

TEST_CASE("every operator's gradient is the derivative of its forward") {
  const std::vector<Case> list = cases();
  for (const OperatorRow* row : operator_table()) {
    INFO(row->name);
    CHECK(std::ranges::any_of(list, [&](const Case& test) { return test.op == row->name; }));
  }
  for (const Case& test : list) Check(test).run();
}
