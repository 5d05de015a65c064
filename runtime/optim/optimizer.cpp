#include "runtime/optim/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/optim/rules.hpp"
#include "runtime/optim/table.hpp"

namespace cohort {
namespace {

constexpr OptimizerRow table[] = {
    {"sgd", "ccsgd", "stochastic gradient descent, with momentum when it is not 0", check_sgd, fill_sgd},
    {"test", "", "weight += rescale * gradient, for tests of the store", check_test_rule, fill_test_rule},
};

void check_common(const OptimizerOptions& options) {
  const auto at_least_zero = [](std::string_view what, float value) {
    if (!(std::isfinite(value) && value >= 0)) throw_usage("{} {}: must be 0 or more", what, value);
  };
  at_least_zero("learning rate", options.learning_rate);
  at_least_zero("weight decay", options.weight_decay);
  if (!std::isfinite(options.rescale_grad)) throw_usage("gradient rescale {}: must be finite", options.rescale_grad);
  if (std::isnan(options.clip_gradient)) throw_usage("gradient clip {}: must be a number", options.clip_gradient);
  for (const auto& [name, factor] : options.lr_mult) at_least_zero(fmt::format("lr_mult of {}:", name), factor);
  for (const auto& [name, factor] : options.wd_mult) at_least_zero(fmt::format("wd_mult of {}:", name), factor);
}

float multiplier(const std::map<std::string, float>& named, const std::string& key, float otherwise) {
  const auto found = named.find(key);
  return found == named.end() ? otherwise : found->second;
}

}  // namespace

std::span<const OptimizerRow> optimizer_table() { return table; }

Optimizer::Optimizer(OptimizerOptions options)
    : options_(std::move(options)), row_(&find_row(optimizer_table(), "optimizer", options_.name)) {
  options_.name = row_->name;
  check_common(options_);
  row_->check(options_);
  kernel_ = make_cpu_update(row_->name);
  rate_of(1);  // a schedule that does not fit the base rate throws now, not in the first step
}

int Optimizer::state_count() const {
  UpdateStep step;
  row_->fill(options_, step);
  return kernel_->state_count(step);
}

std::size_t Optimizer::slot(const std::string& key) {
  const auto [found, added] = slots_.try_emplace(key, keys_.size());
  if (added) {
    const bool decays = !options_.decay_by_name || key.ends_with("_weight") || key.ends_with("_gamma");
    keys_.push_back({multiplier(options_.lr_mult, key, 1), multiplier(options_.wd_mult, key, decays ? 1 : 0), 0});
  }
  return found->second;
}

UpdateStep Optimizer::next_step(std::size_t slot) {
  COHORT_CHECK(slot < keys_.size(), "an optimizer of {} keys was asked for key number {}", keys_.size(), slot);
  KeyState& key = keys_[slot];
  ++key.count;
  num_update_ = std::max(num_update_, key.count);
  UpdateStep step;
  step.learning_rate = static_cast<float>(rate_of(num_update_) * key.lr_mult);
  step.weight_decay = options_.weight_decay * key.wd_mult;
  step.rescale = options_.rescale_grad;
  step.clip_gradient = options_.clip_gradient > 0 ? options_.clip_gradient : -1;
  step.count = key.count;
  row_->fill(options_, step);
  return step;
}

void Optimizer::set_learning_rate(float rate) {
  if (options_.schedule) throw_usage("the learning rate follows a schedule and cannot be set");
  if (!(std::isfinite(rate) && rate >= 0)) throw_usage("learning rate {}: must be 0 or more", rate);
  options_.learning_rate = rate;
}

float Optimizer::learning_rate() const { return static_cast<float>(rate_of(num_update_ + 1)); }

double Optimizer::rate_of(std::uint64_t update) const {
  const double base = static_cast<double>(options_.learning_rate);
  return options_.schedule ? options_.schedule->rate(base, update) : base;
}

}  // namespace cohort
