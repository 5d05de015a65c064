#include "runtime/models/builders.hpp"

namespace cohort::models {

Symbol mlp(const ModelOptions& options) {
  NameCounter names;
  const auto dense = [&](const Symbol& input, std::int64_t hidden, const char* name) {
    return Symbol::create(names, "FullyConnected", {input}, {{"num_hidden", std::to_string(hidden)}}, name);
  };
  const auto relu = [&](const Symbol& input, const char* name) {
    return Symbol::create(names, "Activation", {input}, {{"act_type", "relu"}}, name);
  };
  Symbol net = Symbol::create(names, "Flatten", {Symbol::variable("data")});
  net = relu(dense(net, 128, "fc1"), "relu1");
  net = relu(dense(net, 64, "fc2"), "relu2");
  net = dense(net, options.num_classes, "fc3");
  return Symbol::create(names, "SoftmaxOutput", {net}, {}, "softmax");
}

}  // namespace cohort::models
