// What each optimizer's file gives to the table: a check of its options and the numbers only its rule reads.
#pragma once

#include "runtime/optim/optimizer.hpp"

namespace cohort {

void check_sgd(const OptimizerOptions& options);
void fill_sgd(const OptimizerOptions& options, UpdateStep& step);

void check_test_rule(const OptimizerOptions& options);
void fill_test_rule(const OptimizerOptions& options, UpdateStep& step);

}  // namespace cohort
