// Module: a symbol with its parameters, bound for training and scoring, connected to a store.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/loader.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/kvstore/kvstore.hpp"
#include "runtime/optim/metric.hpp"
#include "runtime/symbol/symbol.hpp"
#include "runtime/train/replica.hpp"

namespace cohort {

// What one step of this rank measured over its own samples.
struct StepMeasure {
  double loss_sum = 0;                // cross-entropy; 0 where the network's output is no class distribution
  std::vector<MetricTotals> metrics;  // in the module's order
};

using ParameterMap = std::map<std::string, NDArray>;

// The order of use: set_parameters, init_optimizer, bind, then steps. Calls that reach the store are collective.
// Neither copies nor moves.
class Module {
 public:
  // The symbol has one input `data`, at most one label, a variable whose name ends in _label, and losses for heads.
  // Throws Error(usage) when it has not, or when its shapes do not fit the samples.
  Module(Context& context, Symbol symbol, const Shape& sample_shape, std::vector<std::unique_ptr<Metric>> metrics);

  const Symbol& symbol() const { return symbol_; }
  // Trainable arguments with their shapes, in the order in which backward makes their gradients ready.
  const std::vector<std::string>& parameter_names() const { return names_; }
  const Shape& parameter_shape(const std::string& name) const { return shapes_.at(name); }
  std::int64_t parameter_count() const;
  const std::vector<std::unique_ptr<Metric>>& metrics() const { return metrics_; }

  // Fresh values by MXNet's rules: a function of seed and names alone.
  ParameterMap initial_parameters(const std::string& initializer, const std::string& network, std::uint64_t seed) const;
  // Classes that the first output distributes over: the width of a SoftmaxOutput of rank 2; 0 for other networks, which
  // have no loss and no metrics here.
  std::int64_t output_classes() const { return output_classes_; }
  std::vector<std::string> metric_names() const;
  // Throws Error(usage) where a parameter is missing from `values`, is not the network's, or has another shape or
  // element type.
  void require_parameters(const ParameterMap& values) const;
  // Multipliers given as attributes of the variables: __lr_mult__, __wd_mult__.
  std::map<std::string, float> multipliers(const std::string& attribute) const;

  // Gives every parameter its value and its place: in the store's memory where the store updates, private otherwise.
  // Rank 0's values win. Collective; `values` must pass require_parameters on every rank.
  void init_optimizer(KVStore& store, Optimizer optimizer, bool update_on_store, const ParameterMap& values);

  // Makes executors for these batch sizes; they share memory. Sizes of 0 are skipped.
  void bind(std::span<const std::int64_t> train_batches, std::span<const std::int64_t> score_batches);

  // Forward, measure, backward; pushes every gradient as it becomes ready. A batch without samples pushes zeros.
  // `report` travels with the pushes: its loss, metric and sample count are filled in here.
  const StepMeasure& forward_backward(const Batch& batch, StepReport report);
  // Waits for the step's rounds and, where updates run off the store, updates this rank's replica.
  void update();

  // Scores one batch: forward alone.
  const StepMeasure& score(const Batch& batch);

  // Sets what scales the sum of gradients: 1 / samples of the global step.
  void set_global_count(std::int64_t samples);
  Optimizer& optimizer();

  // Current weights, to read between steps.
  const ParameterMap& parameters() const { return weights_; }
  // The executor of the last step, for monitors.
  const Executor& last_executor() const { return *last_; }

 private:
  Executor& executor_for(std::map<std::int64_t, std::unique_ptr<Executor>>& executors, std::int64_t count);
  std::unique_ptr<Executor> make_executor(std::int64_t batch, bool train);
  void fill_inputs(Executor& executor, const Batch& batch);
  void measure(const Executor& executor, const Batch& batch);
  void push_gradient(std::size_t index);

  Context& context_;
  Symbol symbol_;
  Shape sample_shape_;
  std::string label_name_;
  std::vector<std::unique_ptr<Metric>> metrics_;
  std::unique_ptr<Metric> loss_metric_;
  std::vector<std::string> names_;
  std::map<std::string, Shape> shapes_;
  std::int64_t output_classes_ = 0;

  KVStore* store_ = nullptr;
  std::unique_ptr<Replica> replica_;  // where updates run off the store
  ParameterMap weights_;
  ParameterMap gradients_;
  // One entry per parameter, made once, so that a push allocates nothing.
  std::vector<Key> keys_;
  std::vector<std::vector<NDArray>> pushed_;
  std::vector<NDArray> sums_;  // off the store: what it holds after a round

  std::shared_ptr<ExecutorMemory> memory_;
  std::map<std::int64_t, std::unique_ptr<Executor>> train_;
  std::map<std::int64_t, std::unique_ptr<Executor>> score_;
  Executor* last_ = nullptr;
  std::int64_t global_count_ = 0;
  StepMeasure measure_;
};

}  // namespace cohort
