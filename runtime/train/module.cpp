#include "runtime/train/module.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

#include "kernels/base/numbers.hpp"
#include "runtime/operators/operator.hpp"
#include "runtime/optim/initializer.hpp"

namespace cohort {
namespace {

constexpr const char* data_name = "data";

Shape batch_shape(std::int64_t batch, const Shape& sample) {
  Shape shape{batch};
  for (const std::int64_t extent : sample) shape.push_back(extent);
  return shape;
}

// Backward begins at the heads, without gradients from outside.
void require_losses(const Symbol& symbol) {
  for (const NodeEntry& head : symbol.heads()) {
    const Node& node = *head.node;
    if (node.variable()) throw_usage("the head '{}' is a variable; a network to train ends in a loss", node.name);
    if (node.row->gradient == GradientForm::none || node.row->is_loss(node.row->parse(node.attributes))) continue;
    throw_usage("the head '{}' ({}) is no loss; a network to train ends in one, as SoftmaxOutput", node.name,
                node.row->name);
  }
}

std::string find_label(const std::vector<std::string>& arguments) {
  std::string label;
  for (const std::string& name : arguments) {
    if (!name.ends_with("_label")) continue;
    if (!label.empty()) throw_usage("the network has two labels, {} and {}; one is supported", label, name);
    label = name;
  }
  return label;
}

}  // namespace

Module::Module(Context& context, Symbol symbol, const Shape& sample_shape, std::vector<std::unique_ptr<Metric>> metrics)
    : context_(context),
      symbol_(std::move(symbol)),
      sample_shape_(sample_shape),
      metrics_(std::move(metrics)),
      loss_metric_(make_metric("cross-entropy")),
      memory_(make_executor_memory()) {
  const std::vector<std::string> arguments = symbol_.list_arguments();
  if (std::find(arguments.begin(), arguments.end(), data_name) == arguments.end())
    throw_usage("the network has no input named '{}'", data_name);
  label_name_ = find_label(arguments);
  require_losses(symbol_);
  std::vector<std::string> inputs{data_name};
  if (!label_name_.empty()) inputs.push_back(label_name_);
  names_ = gradient_order(symbol_, inputs);

  const InferredShapes inferred = symbol_.infer_shapes({{data_name, batch_shape(1, sample_shape_)}});
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (std::find(inputs.begin(), inputs.end(), arguments[i]) == inputs.end())
      shapes_[arguments[i]] = inferred.arguments[i];
  const NodeEntry& head = symbol_.heads().front();
  const Shape& output = inferred.outputs.front();
  if (!head.node->variable() && head.node->row->name == "SoftmaxOutput" && output.rank() == 2)
    output_classes_ = output[1];
  for (const std::string& name : names_) keys_.emplace_back(name);
  measure_.metrics.resize(metrics_.size());
}

std::int64_t Module::parameter_count() const {
  std::int64_t count = 0;
  for (const auto& [name, shape] : shapes_) count += shape.count();
  return count;
}

ParameterMap Module::initial_parameters(const std::string& initializer, const std::string& network,
                                        std::uint64_t seed) const {
  ParameterMap values;
  std::vector<float> host;
  for (const auto& [name, shape] : shapes_) {
    try {
      host.assign(static_cast<std::size_t>(shape.count()), 0.0f);
      initialize_parameter(host, shape, name, initializer, network, seed, symbol_.attribute(name, "init"));
      values[name] = NDArray::from_values(context_, shape, host);
    } catch (const std::bad_alloc&) {
      COHORT_FAIL(memory, "no memory for parameter {} of shape {}: {} bytes", name, to_string(shape),
                  static_cast<double>(shape.count()) * sizeof(float));
    }
  }
  return values;
}

std::map<std::string, float> Module::multipliers(const std::string& attribute) const {
  std::map<std::string, float> found;
  for (const std::string& name : names_) {
    const auto text = symbol_.attribute(name, attribute);
    if (!text) continue;
    const std::optional<float> factor = parse_number<float>(*text);
    if (!factor || !std::isfinite(*factor))
      throw_usage("parameter {}: attribute {} = '{}' is no number", name, attribute, *text);
    found[name] = *factor;
  }
  return found;
}

std::vector<std::string> Module::metric_names() const {
  std::vector<std::string> names;
  for (const auto& metric : metrics_) names.push_back(metric->name());
  return names;
}

void Module::require_parameters(const ParameterMap& values) const {
  for (const auto& [name, value] : values)
    if (!shapes_.contains(name)) throw_usage("parameter {} is not one of the network's", name);
  for (const auto& [name, shape] : shapes_) {
    const auto found = values.find(name);
    if (found == values.end()) throw_usage("parameter {} has no value", name);
    if (found->second.shape() != shape)
      throw_usage("parameter {} has shape {}, the network needs {}", name, to_string(found->second.shape()),
                  to_string(shape));
    if (found->second.dtype() != DType::f32)
      throw_usage("parameter {} is {}, the network needs float32", name, to_string(found->second.dtype()));
  }
}

void Module::init_optimizer(KVStore& store, Optimizer optimizer, bool update_on_store, const ParameterMap& values) {
  std::vector<NDArray> initial;
  for (const std::string& name : names_) initial.push_back(values.at(name));
  store_ = &store;
  if (update_on_store)
    store.set_optimizer(std::move(optimizer));
  else
    replica_ = std::make_unique<Replica>(context_, std::move(optimizer));
  store.init(keys_, initial);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    // Rank 0's values, as the store holds them now.
    const NDArray stored = store.weight(keys_[i]);
    weights_[names_[i]] = replica_ ? replica_->add(names_[i], stored) : stored;
    gradients_[names_[i]] = store.gradient(keys_[i]);
    pushed_.push_back({gradients_[names_[i]]});
    if (replica_) sums_.push_back(stored);
  }
}

std::unique_ptr<Executor> Module::make_executor(std::int64_t batch, bool train) {
  BindOptions options;
  options.arguments = weights_;
  options.arguments[data_name] = NDArray::zeros(context_, batch_shape(batch, sample_shape_));
  if (!label_name_.empty()) options.arguments[label_name_] = NDArray::zeros(context_, Shape{batch});
  if (train) options.gradients = gradients_;
  options.train = train;
  options.memory = memory_;
  auto executor = std::make_unique<Executor>(symbol_, context_, cpu(), options);
  if (train) executor->on_gradient_ready([this](std::size_t index) { push_gradient(index); });
  return executor;
}

void Module::bind(std::span<const std::int64_t> train_batches, std::span<const std::int64_t> score_batches) {
  for (const std::int64_t batch : train_batches)
    if (batch > 0 && !train_.contains(batch)) train_[batch] = make_executor(batch, true);
  for (const std::int64_t batch : score_batches)
    if (batch > 0 && !score_.contains(batch)) score_[batch] = make_executor(batch, false);
}

Executor& Module::executor_for(std::map<std::int64_t, std::unique_ptr<Executor>>& executors, std::int64_t count) {
  const auto found = executors.find(count);
  COHORT_CHECK(found != executors.end(), "no executor is bound for a batch of {}", count);
  last_ = found->second.get();
  return *last_;
}

void Module::fill_inputs(Executor& executor, const Batch& batch) {
  const auto fill = [&](const std::string& name, std::span<const float> values) {
    const NDArray& target = executor.arguments().at(name);
    COHORT_CHECK(static_cast<std::int64_t>(values.size()) == target.count(), "{} values for input {} of {}",
                 values.size(), name, to_string(target.shape()));
    std::memcpy(target.data(), values.data(), values.size_bytes());
    target.bump_version();
  };
  fill(data_name, batch.data);
  if (!label_name_.empty()) fill(label_name_, batch.labels);
}

void Module::measure(const Executor& executor, const Batch& batch) {
  measure_.loss_sum = 0;
  std::fill(measure_.metrics.begin(), measure_.metrics.end(), MetricTotals{});
  if (output_classes_ == 0) return;
  const NDArray& output = executor.outputs().front();
  const std::span<const float> probabilities(output.data(), static_cast<std::size_t>(output.count()));
  measure_.loss_sum = loss_metric_->measure(probabilities, batch.labels, output_classes_).sum;
  for (std::size_t i = 0; i < metrics_.size(); ++i)
    measure_.metrics[i] = metrics_[i]->measure(probabilities, batch.labels, output_classes_);
}

void Module::push_gradient(std::size_t index) {
  store_->push(std::span(&keys_[index], 1), std::span(&pushed_[index], 1), -static_cast<int>(index));
}

const StepMeasure& Module::forward_backward(const Batch& batch, StepReport report) {
  report.samples = batch.count;
  if (batch.count == 0) {
    // A rank without samples takes part in the round with zeros.
    measure_ = StepMeasure{0, std::vector<MetricTotals>(metrics_.size())};
    store_->set_report(report);
    for (const std::string& name : names_) {
      const NDArray& gradient = gradients_.at(name);
      std::memset(gradient.data(), 0, static_cast<std::size_t>(gradient.count()) * sizeof(float));
    }
    for (std::size_t i = 0; i < names_.size(); ++i) push_gradient(i);
    return measure_;
  }
  Executor& executor = executor_for(train_, batch.count);
  fill_inputs(executor, batch);
  executor.forward(true);
  measure(executor, batch);
  report.loss_sum = measure_.loss_sum;
  report.correct = measure_.metrics.empty() ? 0 : measure_.metrics.front().sum;
  store_->set_report(report);
  executor.backward();
  return measure_;
}

void Module::update() {
  store_->wait_all();
  if (replica_) replica_->update(sums_);
}

const StepMeasure& Module::score(const Batch& batch) {
  Executor& executor = executor_for(score_, batch.count);
  fill_inputs(executor, batch);
  executor.forward(false);
  measure(executor, batch);
  return measure_;
}

void Module::set_global_count(std::int64_t samples) {
  if (samples == global_count_) return;
  global_count_ = samples;
  optimizer().set_rescale(1.0f / static_cast<float>(samples));
}

Optimizer& Module::optimizer() { return replica_ ? replica_->optimizer() : *store_->optimizer(); }

}  // namespace cohort
