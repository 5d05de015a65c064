#include <cmath>

#include "kernels/base/error.hpp"
#include "runtime/optim/metric_rows.hpp"

namespace cohort {
namespace {

// MXNet computes one number under two names.
class CrossEntropy final : public Metric {
 public:
  explicit CrossEntropy(std::string name) : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }

  MetricTotals measure(std::span<const float> probabilities, std::span<const float> labels,
                       std::int64_t classes) const override {
    constexpr double epsilon = 1e-12;  // keeps a probability of 0 finite
    const std::int64_t samples = check_batch(*this, probabilities, labels, classes);
    double sum = 0;
    for (std::int64_t i = 0; i < samples; ++i) {
      const float label = labels[static_cast<std::size_t>(i)];
      COHORT_CHECK(label >= 0 && label < static_cast<float>(classes), "{}: label {} is none of {} classes", name_,
                   label, classes);
      const auto own = static_cast<std::size_t>(i * classes + static_cast<std::int64_t>(label));
      sum -= std::log(static_cast<double>(probabilities[own]) + epsilon);
    }
    return {sum, static_cast<double>(samples)};
  }

 private:
  std::string name_;
};

}  // namespace

std::unique_ptr<Metric> make_cross_entropy(int) { return std::make_unique<CrossEntropy>("cross-entropy"); }
std::unique_ptr<Metric> make_nll_loss(int) { return std::make_unique<CrossEntropy>("nll-loss"); }

}  // namespace cohort
