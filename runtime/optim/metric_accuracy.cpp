#include <algorithm>

#include "kernels/base/error.hpp"
#include "runtime/optim/metric_rows.hpp"

namespace cohort {
namespace {

class Accuracy final : public Metric {
 public:
  const std::string& name() const override { return name_; }

  // Of several largest probabilities the first counts.
  MetricTotals measure(std::span<const float> probabilities, std::span<const float> labels,
                       std::int64_t classes) const override {
    const std::int64_t samples = check_batch(*this, probabilities, labels, classes);
    std::int64_t correct = 0;
    const float* row = probabilities.data();
    for (std::int64_t i = 0; i < samples; ++i, row += classes)
      correct += labels[static_cast<std::size_t>(i)] == static_cast<float>(std::max_element(row, row + classes) - row);
    return {static_cast<double>(correct), static_cast<double>(samples)};
  }

 private:
  std::string name_ = "accuracy";
};

class TopKAccuracy final : public Metric {
 public:
  explicit TopKAccuracy(int k) : k_(k), name_(fmt::format("top_k_accuracy_{}", k)) {}
  const std::string& name() const override { return name_; }

  // Of equal probabilities the earlier class is the larger.
  MetricTotals measure(std::span<const float> probabilities, std::span<const float> labels,
                       std::int64_t classes) const override {
    const std::int64_t samples = check_batch(*this, probabilities, labels, classes);
    std::int64_t correct = 0;
    const float* row = probabilities.data();
    for (std::int64_t i = 0; i < samples; ++i, row += classes) {
      const float label = labels[static_cast<std::size_t>(i)];
      if (!(label >= 0 && label < static_cast<float>(classes))) continue;
      const float* own = row + static_cast<std::int64_t>(label);
      const auto larger = std::count_if(row, own, [own](float p) { return p >= *own; }) +
                          std::count_if(own, row + classes, [own](float p) { return p > *own; });
      correct += larger < k_;
    }
    return {static_cast<double>(correct), static_cast<double>(samples)};
  }

 private:
  std::int64_t k_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Metric> make_accuracy(int) { return std::make_unique<Accuracy>(); }

std::unique_ptr<Metric> make_top_k_accuracy(int top_k) {
  if (top_k < 2) throw_usage("top_k_accuracy with k = {}: use k above 1, or accuracy", top_k);
  return std::make_unique<TopKAccuracy>(top_k);
}

}  // namespace cohort
