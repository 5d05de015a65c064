#include "runtime/train/learning_rate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/base/numbers.hpp"

namespace cohort {
namespace {

// A schedule that starts in the middle of the run.
class ResumedSchedule : public Schedule {
 public:
  ResumedSchedule(std::shared_ptr<const Schedule> whole, std::uint64_t done) : whole_(std::move(whole)), done_(done) {}
  double rate(double base, std::uint64_t update) const override { return whole_->rate(base, update + done_); }

 private:
  std::shared_ptr<const Schedule> whole_;
  std::uint64_t done_;
};

// "pow2", "pow 2", "pow-2" -> 2; anything else -> no value.
std::optional<double> parse_power(std::string_view text) {
  if (!text.starts_with("pow")) return std::nullopt;
  std::string_view rest = text.substr(3);
  if (!rest.empty() && (rest.front() == ' ' || rest.front() == '-')) rest.remove_prefix(1);
  const std::optional<double> power = parse_number<double>(rest);
  if (!power || !(*power > 0) || !std::isfinite(*power))
    throw_usage("--lr-step-epochs {}: the power must be a number above 0", text);
  return power;
}

std::vector<std::uint64_t> boundaries(const TrainConfig& config, std::int64_t steps_per_epoch) {
  std::vector<std::uint64_t> updates;
  std::int64_t previous = 0;
  for (const std::int64_t epoch : parse_integers(config.lr_step_epochs, "lr-step-epochs")) {
    if (epoch <= previous || epoch > most_epochs)
      throw_usage("--lr-step-epochs {}: epochs must rise, from 1 to {}", config.lr_step_epochs, most_epochs);
    previous = epoch;
    updates.push_back(static_cast<std::uint64_t>(epoch * steps_per_epoch));
  }
  return updates;
}

}  // namespace

LearningRatePlan plan_learning_rate(const TrainConfig& config, std::int64_t steps_per_epoch, int first_epoch) {
  LearningRatePlan plan;
  WarmUp warm_up;
  warm_up.updates =
      static_cast<std::uint64_t>(std::llround(config.warmup_epochs * static_cast<double>(steps_per_epoch)));
  const auto total = static_cast<std::uint64_t>(config.num_epochs) * static_cast<std::uint64_t>(steps_per_epoch);
  const std::optional<double> power =
      config.lr_schedule.empty() ? parse_power(config.lr_step_epochs) : std::optional<double>();
  if (config.lr_schedule == "poly") {
    plan.schedule = poly_schedule(total, 2, 0, warm_up);
    plan.text = fmt::format("polynomial decay, power 2, over {} updates", total);
  } else if (config.lr_schedule == "cosine") {
    plan.schedule = cosine_schedule(total, 0, warm_up);
    plan.text = fmt::format("cosine decay over {} updates", total);
  } else if (power) {
    plan.schedule = poly_schedule(total, *power, 0, warm_up);
    plan.text = fmt::format("polynomial decay, power {}, over {} updates", *power, total);
  } else {
    const std::vector<std::uint64_t> steps = boundaries(config, steps_per_epoch);
    const bool constant = config.lr_factor >= 1 || steps.empty();
    if (config.lr_schedule == "factor" && !constant) {
      plan.schedule = factor_schedule(steps.front(), config.lr_factor, 1e-8, warm_up);
      plan.text = fmt::format("times {} every {} updates", config.lr_factor, steps.front());
    } else if (!constant || warm_up.updates > 0) {
      plan.schedule = multi_factor_schedule(constant ? std::vector<std::uint64_t>{} : steps,
                                            constant ? 1.0 : config.lr_factor, warm_up);
      plan.text =
          constant ? "constant" : fmt::format("times {} after updates {}", config.lr_factor, fmt::join(steps, ", "));
    } else {
      plan.text = "constant";
    }
    plan.stepwise = !constant && warm_up.updates == 0;
  }
  if (warm_up.updates > 0) plan.text += fmt::format(", linear warm-up over the first {}", warm_up.updates);
  if (plan.schedule && first_epoch > 0)
    plan.schedule = std::make_shared<ResumedSchedule>(
        plan.schedule, static_cast<std::uint64_t>(first_epoch) * static_cast<std::uint64_t>(steps_per_epoch));
  return plan;
}

std::string explain_learning_rate(const TrainConfig& config, const LearningRatePlan& plan, int ranks,
                                  std::int64_t global_batch, std::int64_t steps_per_epoch) {
  const double rescale = 1.0 / static_cast<double>(global_batch);
  return fmt::format(
      "step: m = momentum * m - lr * (wd * w + rescale * sum of gradients over {0} ranks), w = w + m\n"
      "  samples per rank {1:g}, global batch {2}, rescale 1/{2} = {3:g}\n"
      "  lr {4:g} ({5}), momentum {6:g}, wd {7:g} on weights and gammas\n"
      "  {8} steps per epoch; one sample moves a weight by lr/{2} = {9:g} times its gradient\n"
      "  the rate is not scaled by the number of ranks: with r times the global batch, r times --lr keeps that step",
      ranks, static_cast<double>(global_batch) / ranks, global_batch, rescale, config.lr, plan.text, config.mom,
      config.wd, steps_per_epoch, config.lr * rescale);
}

}  // namespace cohort
