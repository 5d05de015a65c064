#include "runtime/models/builders.hpp"

namespace cohort::models {

Symbol lenet(const ModelOptions& options) {
  NameCounter names;
  const auto tanh = [&](const Symbol& input) {
    return Symbol::create(names, "Activation", {input}, {{"act_type", "tanh"}});
  };
  const auto dense = [&](const Symbol& input, std::int64_t hidden) {
    return Symbol::create(names, "FullyConnected", {input}, {{"num_hidden", std::to_string(hidden)}});
  };
  const auto stage = [&](const Symbol& input, int filters) {
    const Symbol convolution =
        Symbol::create(names, "Convolution", {input}, {{"kernel", "(5, 5)"}, {"num_filter", std::to_string(filters)}});
    return Symbol::create(names, "Pooling", {tanh(convolution)},
                          {{"kernel", "(2, 2)"}, {"pool_type", "max"}, {"stride", "(2, 2)"}});
  };
  Symbol net = stage(stage(Symbol::variable("data"), 20), 50);
  net = tanh(dense(Symbol::create(names, "Flatten", {net}), 500));
  net = dense(net, options.num_classes);
  return Symbol::create(names, "SoftmaxOutput", {net}, {}, "softmax");
}

}  // namespace cohort::models
