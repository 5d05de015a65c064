// Optimizers: parameters, learning-rate schedule, per-key multipliers and update counts. The arithmetic is a kernel
// (kernels/update.hpp), run by whoever owns a slice of a key.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/update.hpp"
#include "runtime/optim/schedule.hpp"

namespace cohort {

struct OptimizerOptions {
  std::string name = "sgd";
  float learning_rate = 0.01f;  // base rate; a schedule's base is overwritten by it
  float momentum = 0;
  float weight_decay = 0;
  float rescale_grad = 1;
  float clip_gradient = -1;                  // off when <= 0
  std::shared_ptr<const Schedule> schedule;  // null: constant
  // By key name; a name that is absent has lr_mult 1, and wd_mult as default_wd_mult says.
  std::map<std::string, float> lr_mult;
  std::map<std::string, float> wd_mult;
  // MXNet's Module rule: no decay for names that end in neither _weight nor _gamma. False: 1 for all (Gluon).
  bool decay_by_name = true;
};

// One row of the optimizer table; the name is also the update kernel's.
struct OptimizerRow {
  std::string_view name;
  std::string_view aliases;  // separated by commas
  std::string_view summary;
  // Throws Error(usage) for options that the rule cannot run with.
  void (*check)(const OptimizerOptions& options);
  // Sets what the rule reads besides rate, decay, rescale and clip, which every rule gets.
  void (*fill)(const OptimizerOptions& options, UpdateStep& step);
};
std::span<const OptimizerRow> optimizer_table();

// Counts updates per key (from 1) and turns them into the numbers of one pass. The same on every rank that makes the
// same calls. Copies.
class Optimizer {
 public:
  // Throws Error(usage) listing the table for an unknown name, or for a value out of range.
  explicit Optimizer(OptimizerOptions options);

  // As given, with the row's own name in place of an alias.
  const OptimizerOptions& options() const { return options_; }
  const UpdateKernel& kernel() const { return *kernel_; }
  int state_count() const;

  // Announces the next update of `key` (raising its count, then reading the schedule) and returns its numbers.
  UpdateStep next_step(const std::string& key) { return next_step(slot(key)); }

  // The place of a key, found once (multipliers are looked up here) and cheap to use; the same in every later copy.
  std::size_t slot(const std::string& key);
  UpdateStep next_step(std::size_t slot);

  // What scales the summed gradients: 1 / (samples of the global batch).
  void set_rescale(float rescale) { options_.rescale_grad = rescale; }
  // Throws Error(usage) when a schedule is set.
  void set_learning_rate(float rate);
  // The rate the next update will use, before multipliers.
  float learning_rate() const;
  std::uint64_t updates() const { return num_update_; }

 private:
  struct KeyState {
    float lr_mult = 1;
    float wd_mult = 1;
    std::uint64_t count = 0;
  };
  double rate_of(std::uint64_t update) const;

  OptimizerOptions options_;
  const OptimizerRow* row_;
  std::shared_ptr<const UpdateKernel> kernel_;
  std::unordered_map<std::string, std::size_t> slots_;
  std::vector<KeyState> keys_;
  std::uint64_t num_update_ = 0;
};

}  // namespace cohort
