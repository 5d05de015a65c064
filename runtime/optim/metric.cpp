#include "runtime/optim/metric.hpp"

#include <limits>

#include "runtime/optim/metric_rows.hpp"
#include "runtime/optim/table.hpp"

namespace cohort {
namespace {

constexpr MetricRow table[] = {
    {"accuracy", "acc", "share of samples whose largest probability is at the label", make_accuracy},
    {"top_k_accuracy", "top_k_acc", "share of samples whose label is among the k largest", make_top_k_accuracy},
    {"cross-entropy", "ce", "mean of -log(probability of the label)", make_cross_entropy},
    {"nll-loss", "nll_loss,nll", "the same number under its other name", make_nll_loss},
};

}  // namespace

double MetricTotals::value() const { return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / count; }

std::span<const MetricRow> metric_table() { return table; }

std::unique_ptr<Metric> make_metric(std::string_view name, int top_k) {
  return find_row(metric_table(), "metric", name).make(top_k);
}

std::int64_t check_batch(const Metric& metric, std::span<const float> probabilities, std::span<const float> labels,
                         std::int64_t classes) {
  const auto samples = static_cast<std::int64_t>(labels.size());
  COHORT_CHECK(classes >= 1 && static_cast<std::int64_t>(probabilities.size()) == samples * classes,
               "{}: {} probabilities for {} labels of {} classes", metric.name(), probabilities.size(), samples,
               classes);
  return samples;
}

}  // namespace cohort
