// What each metric's file gives to the table, and the check they share.
#pragma once

#include "runtime/optim/metric.hpp"

namespace cohort {

std::unique_ptr<Metric> make_accuracy(int top_k);
std::unique_ptr<Metric> make_top_k_accuracy(int top_k);
std::unique_ptr<Metric> make_cross_entropy(int top_k);
std::unique_ptr<Metric> make_nll_loss(int top_k);

// The number of samples of a batch whose sizes agree. Throws Error(check) naming the metric.
std::int64_t check_batch(const Metric& metric, std::span<const float> probabilities, std::span<const float> labels,
                         std::int64_t classes);

}  // namespace cohort
