// Metrics: what one batch adds.
#include "runtime/optim/metric.hpp"

#include <cmath>
#include <vector>

#include "kernels/base/error.hpp"
#include "test/support/catch.hpp"

using cohort::Error;
using cohort::make_metric;
using cohort::MetricTotals;
using Values = std::vector<float>;

namespace {

// Three samples of four classes: the first has its largest at 2, the second a tie of 0 and 3, the third at 1.
const Values probabilities{0.125f, 0.25f, 0.5f,   0.125f,  //
                           0.375f, 0.25f, 0,      0.375f,  //
                           0.25f,  0.5f,  0.125f, 0.125f};

void check(const MetricTotals& totals, double sum, double count) {
  CHECK(totals.sum == sum);
  CHECK(totals.count == count);
}

}  // namespace

TEST_CASE("accuracy counts samples whose first largest probability is at the label") {
  const auto metric = make_metric("accuracy");
  CHECK(metric->name() == "accuracy");
  check(metric->measure(probabilities, Values{2, 0, 1}, 4), 3, 3);
  check(metric->measure(probabilities, Values{2, 3, 1}, 4), 2, 3);
  check(metric->measure(probabilities, Values{0, 1, 7}, 4), 0, 3);
  CHECK(make_metric("acc")->name() == "accuracy");
}

TEST_CASE("top-k counts labels among the k largest") {
  const auto metric = make_metric("top_k_accuracy", 2);
  CHECK(metric->name() == "top_k_accuracy_2");
  check(metric->measure(probabilities, Values{1, 3, 0}, 4), 3, 3);
  // Of the two probabilities that are equal and last, neither is among the first two.
  check(metric->measure(probabilities, Values{0, 1, 2}, 4), 0, 3);
  check(make_metric("top_k_acc", 3)->measure(probabilities, Values{0, 1, 3}, 4), 2, 3);
  // k above the number of classes: every sample with a label of its own counts.
  check(make_metric("top_k_acc", 9)->measure(probabilities, Values{0, 2, 4}, 4), 2, 3);
}

TEST_CASE("cross-entropy adds -log(p + 1e-12) in double") {
  const auto metric = make_metric("cross-entropy");
  CHECK(metric->name() == "cross-entropy");
  check(metric->measure(probabilities, Values{2, 2, 0}, 4),
        -std::log(0.5 + 1e-12) - std::log(1e-12) - std::log(0.25 + 1e-12), 3);
  CHECK_THROWS_AS(metric->measure(probabilities, Values{2, 4, 0}, 4), Error);
  CHECK_THROWS_AS(metric->measure(probabilities, Values{2, -1, 0}, 4), Error);
  CHECK(make_metric("ce")->name() == "cross-entropy");
  for (const char* name : {"nll-loss", "nll_loss", "nll"}) {
    const auto other = make_metric(name);
    CHECK(other->name() == "nll-loss");
    CHECK(other->measure(probabilities, Values{2, 2, 0}, 4).sum ==
          metric->measure(probabilities, Values{2, 2, 0}, 4).sum);
  }
}

TEST_CASE("no samples add nothing, and nothing counted is no number") {
  for (const auto& row : cohort::metric_table()) check(row.make(5)->measure({}, {}, 4), 0, 0);
  CHECK(std::isnan(MetricTotals{}.value()));
  CHECK(MetricTotals{3, 4}.value() == 0.75);
}

TEST_CASE("wrong sizes and names are refused") {
  for (const auto& row : cohort::metric_table())
    CHECK_THROWS_AS(row.make(5)->measure(probabilities, Values{1, 2}, 4), Error);
  CHECK_THROWS_AS(make_metric("top_k_accuracy", 1), Error);
  CHECK_THROWS_AS(make_metric("top_k_accuracy"), Error);
  CHECK_THROWS_WITH(make_metric("f2"),
                    "unknown metric 'f2'; there are: accuracy (acc), top_k_accuracy (top_k_acc), cross-entropy (ce), "
                    "nll-loss (nll_loss,nll)");
}
