// The learning rate of a run: MXNet's flags turned into a schedule over global steps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/config.hpp"
#include "runtime/optim/schedule.hpp"

namespace cohort {

struct LearningRatePlan {
  std::shared_ptr<const Schedule> schedule;  // null: constant
  bool stepwise = false;                     // changes at a few updates, each worth a line in the log
  std::string text;                          // the schedule in words
};

// Boundaries are at epochs of the whole run: a resumed run goes on where the schedule stands after `first_epoch`
// epochs. Throws Error(usage) for a malformed --lr-step-epochs.
LearningRatePlan plan_learning_rate(const TrainConfig& config, std::int64_t steps_per_epoch, int first_epoch);

// What --explain-lr prints: the formula of the step with this run's numbers, one line each.
std::string explain_learning_rate(const TrainConfig& config, const LearningRatePlan& plan, int ranks,
                                  std::int64_t global_batch, std::int64_t steps_per_epoch);

}  // namespace cohort
