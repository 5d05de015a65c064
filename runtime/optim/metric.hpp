// Evaluation metrics as sums and counts, so that a value over all ranks is a sum of sums over a sum of counts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/shape.hpp"

namespace cohort {

struct MetricTotals {
  double sum = 0;
  double count = 0;

  // NaN when nothing was counted.
  double value() const;
};

class Metric {
 public:
  virtual ~Metric() = default;
  // The printed name: accuracy, top_k_accuracy_5, cross-entropy, nll-loss.
  virtual const std::string& name() const = 0;
  // What one batch adds: `samples` rows of `classes` probabilities and as many labels.
  virtual MetricTotals measure(std::span<const float> probabilities, std::span<const float> labels,
                               std::int64_t classes) const = 0;
};

struct MetricRow {
  std::string_view name;
  std::string_view aliases;  // separated by commas
  std::string_view summary;
  std::unique_ptr<Metric> (*make)(int top_k);
};
std::span<const MetricRow> metric_table();

// By name or alias. Throws Error(usage) listing the table.
std::unique_ptr<Metric> make_metric(std::string_view name, int top_k = 0);

}  // namespace cohort
