// SoftmaxOutput: probabilities against double precision, gradients against MXNet's rules.
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/base/backend.hpp"
#include "kernels/base/error.hpp"
#include "kernels/softmax_output.hpp"
#include "test/kernels/reference.hpp"
#include "test/support/catch.hpp"

namespace {

using cohort::LossNormalization;
using cohort::SoftmaxOutputSpec;
using cohort::test::reals;
using Floats = std::vector<float>;

// Probabilities of two rows over four classes that are exact in float32.
const Floats two_rows = {0.5f, 0.25f, 0.125f, 0.125f, 0.25f, 0.25f, 0.25f, 0.25f};

Floats gradient(const SoftmaxOutputSpec& spec, const Floats& probability, const Floats& label,
                const float* out_grad = nullptr) {
  Floats grad(probability.size(), NAN);
  cohort::cpu_backend().softmax_output(spec)->backward(probability.data(), label.data(), out_grad, grad.data());
  return grad;
}

Floats times(Floats values, float factor) {
  for (float& value : values) value *= factor;
  return values;
}

const SoftmaxOutputSpec plain{.outer = 2, .classes = 4, .label_count = 2};
const Floats label_1_3 = {1, 3};
const Floats grad_1_3 = {0.5f, -0.75f, 0.125f, 0.125f, 0.25f, 0.25f, 0.25f, -0.75f};

}  // namespace

TEST_CASE("softmax output, probabilities") {
  for (const std::int64_t classes : {1, 2, 10, 37, 1000})
    for (const std::int64_t inner : {1, 3, 130}) {
      INFO(classes << " classes, inner " << inner);
      const std::int64_t outer = 3;
      const Floats data = reals(outer * classes * inner, 1, 20.0f);
      Floats probability(data.size());
      cohort::cpu_backend()
          .softmax_output(
              {.outer = outer, .classes = classes, .inner = inner, .label_count = outer, .multi_output = inner > 1})
          ->forward(data.data(), probability.data());
      double worst = 0;
      for (std::int64_t n = 0; n < outer; ++n)
        for (std::int64_t i = 0; i < inner; ++i) {
          double sum = 0;
          const auto at = [&](std::int64_t k) { return (n * classes + k) * inner + i; };
          for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(static_cast<double>(data[at(k)]));
          for (std::int64_t k = 0; k < classes; ++k)
            worst = std::max(worst, std::fabs(probability[at(k)] - std::exp(static_cast<double>(data[at(k)])) / sum));
        }
      CHECK(worst < 1e-6);  // float32 sums of up to 1000 terms
    }
}

TEST_CASE("softmax output, large and infinite inputs") {
  const auto softmax = cohort::cpu_backend().softmax_output({.outer = 1, .classes = 3, .label_count = 1});
  Floats probability(3);
  const Floats large = {1e30f, 1e30f, -1e30f};
  softmax->forward(large.data(), probability.data());
  CHECK(probability[0] == 0.5f);
  CHECK(probability[2] < 1e-37f);
  const Floats broken = {0, NAN, 1};
  softmax->forward(broken.data(), probability.data());
  for (const float p : probability) CHECK(std::isnan(p));
}

TEST_CASE("softmax output, gradient of index labels") {
  CHECK(gradient(plain, two_rows, label_1_3) == grad_1_3);
  CHECK(gradient(plain, two_rows, {1.75f, 3.0f}) == grad_1_3);  // labels are cut to integers
  auto spec = plain;
  spec.grad_scale = 0.5f;
  CHECK(gradient(spec, two_rows, label_1_3) == times(grad_1_3, 0.5f));
  spec = plain;
  spec.normalization = LossNormalization::batch;
  CHECK(gradient(spec, two_rows, label_1_3) == times(grad_1_3, 0.5f));
}

TEST_CASE("softmax output, a label outside the classes matches none") {
  for (const float outside : {-1.0f, 4.0f, 1e20f, NAN}) {
    INFO("label " << outside);
    CHECK(gradient(plain, two_rows, {outside, outside}) == two_rows);
  }
}

TEST_CASE("softmax output, ignored labels") {
  auto spec = plain;
  spec.use_ignore = true;
  spec.ignore_label = 1;
  const Floats second_only = {0, 0, 0, 0, 0.25f, 0.25f, 0.25f, -0.75f};
  CHECK(gradient(spec, two_rows, label_1_3) == second_only);
  spec.normalization = LossNormalization::batch;
  CHECK(gradient(spec, two_rows, label_1_3) == times(second_only, 0.5f));
  spec.normalization = LossNormalization::valid;
  CHECK(gradient(spec, two_rows, label_1_3) == second_only);
  CHECK(gradient(spec, two_rows, {1, 1}) == Floats(8, 0.0f));  // the count is at least 1
  // `valid` counts labels that differ from ignore_label even when they are not ignored.
  spec.use_ignore = false;
  CHECK(gradient(spec, two_rows, label_1_3) == grad_1_3);
  spec.ignore_label = 0;
  CHECK(gradient(spec, two_rows, label_1_3) == times(grad_1_3, 0.5f));
}

TEST_CASE("softmax output, label smoothing") {
  auto spec = plain;
  spec.outer = spec.label_count = 1;
  spec.smooth_alpha = 0.375f;  // 0.125 to each of the three others
  const Floats row = {0.5f, 0.25f, 0.125f, 0.125f};
  CHECK(gradient(spec, row, {1}) == Floats{0.375f, -0.375f, 0, 0});
  CHECK(gradient(spec, row, {9}) == Floats{0.375f, 0.125f, 0, 0});
}

TEST_CASE("softmax output, a distribution as label takes neither ignoring nor normalization") {
  auto spec = plain;
  spec.label_is_distribution = true;
  spec.normalization = LossNormalization::batch;
  spec.use_ignore = true;
  spec.ignore_label = 0;
  spec.grad_scale = 2;
  const Floats label = {0, 1, 0, 0, 0.5f, 0.5f, 0, 0};
  CHECK(gradient(spec, two_rows, label) == Floats{1, -1.5f, 0.25f, 0.25f, -0.5f, -0.5f, 0.5f, 0.5f});
}

TEST_CASE("softmax output, head gradient multiplies") {
  const Floats head = {2, 2, 2, 2, 0, 0, 0, 4};
  CHECK(gradient(plain, two_rows, label_1_3, head.data()) == Floats{1, -1.5f, 0.25f, 0.25f, 0, 0, 0, -3});
}

TEST_CASE("softmax output, multi_output divides by the positions unless valid") {
  // (outer 2, classes 2, inner 2).
  SoftmaxOutputSpec spec{.outer = 2, .classes = 2, .inner = 2, .label_count = 2, .multi_output = true};
  const Floats p = {0.5f, 0.25f, 0.5f, 0.75f, 0.125f, 0.5f, 0.875f, 0.5f};
  const Floats label = {0, 1, 1, 0};
  const Floats g = {-0.5f, 0.25f, 0.5f, -0.25f, 0.125f, -0.5f, -0.125f, 0.5f};
  CHECK(gradient(spec, p, label) == times(g, 0.5f));
  spec.normalization = LossNormalization::batch;
  CHECK(gradient(spec, p, label) == times(g, 0.25f));
  spec.normalization = LossNormalization::valid;
  CHECK(gradient(spec, p, label) == times(g, 0.25f));
  spec.ignore_label = 0;
  CHECK(gradient(spec, p, label) == times(g, 0.5f));
  spec.use_ignore = true;
  CHECK(gradient(spec, p, label) == times({0, 0.25f, 0, -0.25f, 0.125f, 0, -0.125f, 0}, 0.5f));
  spec.use_ignore = false;
  spec.normalization = LossNormalization::null;
  spec.smooth_alpha = 0.5f;  // has no effect here
  CHECK(gradient(spec, p, label) == times(g, 0.5f));
}

TEST_CASE("softmax output, wrong specs are refused") {
  CHECK_THROWS_AS(cohort::cpu_backend().softmax_output({.outer = 0, .classes = 3}), cohort::Error);
  CHECK_THROWS_AS(cohort::cpu_backend().softmax_output({.outer = 1, .classes = 3, .inner = 2}), cohort::Error);
}
