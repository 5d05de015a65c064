// The fully connected layer against a plain loop; small integers make every sum exact.
#include <cmath>
#include <vector>

#include "kernels/base/backend.hpp"
#include "kernels/base/error.hpp"
#include "kernels/dense.hpp"
#include "test/kernels/reference.hpp"
#include "test/support/catch.hpp"
#include "test/support/compute_threads.hpp"

namespace {

using cohort::DenseSpec;
using cohort::test::difference;
using cohort::test::integers;
using Floats = std::vector<float>;

void check_dense(const DenseSpec& s) {
  INFO("batch " << s.batch << " inputs " << s.inputs << " outputs " << s.outputs << " bias " << s.bias);
  const Floats data = integers(s.batch * s.inputs, 1), weight = integers(s.outputs * s.inputs, 2);
  const Floats bias = integers(s.outputs, 3), out_grad = integers(s.batch * s.outputs, 4);
  Floats want_out(out_grad.size()), want_data(data.size()), want_weight(weight.size()), want_bias(bias.size());
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t o = 0; o < s.outputs; ++o) {
      const float grad = out_grad[n * s.outputs + o];
      if (s.bias) want_out[n * s.outputs + o] = bias[o];
      want_bias[o] += grad;
      for (std::int64_t i = 0; i < s.inputs; ++i) {
        want_out[n * s.outputs + o] += data[n * s.inputs + i] * weight[o * s.inputs + i];
        want_data[n * s.inputs + i] += grad * weight[o * s.inputs + i];
        want_weight[o * s.inputs + i] += grad * data[n * s.inputs + i];
      }
    }
  const auto dense = cohort::cpu_backend().dense(s);
  Floats out(want_out.size(), NAN), data_grad(data.size(), NAN), weight_grad(weight.size(), NAN);
  Floats bias_grad(bias.size(), NAN);
  dense->forward(data.data(), {weight.data(), 1}, bias.data(), out.data());
  CHECK(difference(out, want_out).empty());
  dense->backward_data(out_grad.data(), {weight.data(), 1}, data_grad.data());
  CHECK(difference(data_grad, want_data).empty());
  dense->backward_weights(data.data(), out_grad.data(), weight_grad.data(), bias_grad.data());
  CHECK(difference(weight_grad, want_weight).empty());
  if (s.bias) CHECK(difference(bias_grad, want_bias).empty());
}

}  // namespace

TEST_CASE("dense, values and gradients equal a plain loop") {
  const cohort::test::ComputeThreads threads(GENERATE(1, 2, 3));
  for (const std::int64_t batch : {1, 2, 7, 64})
    for (const std::int64_t inputs : {1, 5, 128})
      for (const std::int64_t outputs : {1, 10, 33})
        for (const bool bias : {false, true})
          check_dense({.batch = batch, .inputs = inputs, .outputs = outputs, .bias = bias});
  check_dense({.batch = 64, .inputs = 800, .outputs = 500});
  check_dense({.batch = 13, .inputs = 784, .outputs = 128});
}

TEST_CASE("dense, wrong specs are refused") {
  CHECK_THROWS_AS(cohort::cpu_backend().dense({.batch = 0, .inputs = 3, .outputs = 2}), cohort::Error);
}
