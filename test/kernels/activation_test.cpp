// Activations against the standard library in double precision, and the rules that hold bit for bit.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/activation.hpp"
#include "kernels/base/backend.hpp"
#include "test/kernels/reference.hpp"
#include "test/support/catch.hpp"

namespace {

using cohort::ActivationKind;
using Floats = std::vector<float>;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr ActivationKind kinds[] = {ActivationKind::relu, ActivationKind::sigmoid, ActivationKind::tanh,
                                    ActivationKind::softrelu, ActivationKind::softsign};

Floats forward(ActivationKind kind, const Floats& in) {
  Floats out(in.size());
  cohort::cpu_backend().activation({kind, static_cast<std::int64_t>(in.size())})->forward(in.data(), out.data());
  return out;
}

double exact(ActivationKind kind, double x) {
  switch (kind) {
    case ActivationKind::relu: return x > 0 ? x : 0;
    case ActivationKind::sigmoid: return 1 / (1 + std::exp(-x));
    case ActivationKind::tanh: return std::tanh(x);
    case ActivationKind::softrelu: return x > 20 ? x : std::log1p(std::exp(x));
    case ActivationKind::softsign: return x / (1 + std::fabs(x));
  }
  return NAN;
}

// d(out)/d(in) as a function of the output.
double exact_slope(ActivationKind kind, double y) {
  switch (kind) {
    case ActivationKind::relu: return y > 0 ? 1 : 0;
    case ActivationKind::sigmoid: return y * (1 - y);
    case ActivationKind::tanh: return 1 - y * y;
    case ActivationKind::softrelu: return -std::expm1(-y);
    case ActivationKind::softsign: return (1 - std::fabs(y)) * (1 - std::fabs(y));
  }
  return NAN;
}

// Distance in units of the last place of `want`; denormal results count in units of the least normal's last place.
double ulps(float got, double want) {
  const float rounded = std::max(std::fabs(static_cast<float>(want)), std::numeric_limits<float>::min());
  return std::fabs(got - want) / (std::nextafter(rounded, infinity) - rounded);
}

// Every 509th float of both signs up to `limit`, from the denormals on.
Floats dense_range(float limit) {
  Floats values;
  for (std::uint32_t bits = 0;; bits += 509) {
    const auto value = std::bit_cast<float>(bits);
    if (!(value <= limit)) return values;
    values.push_back(value);
    values.push_back(-value);
  }
}

}  // namespace

// The limits are what float32 arithmetic without fused multiply-add reaches; sigmoid and softrelu end at e^-87, below
// which results count as 0.
TEST_CASE("activation, values are within a few units of the last place") {
  for (const ActivationKind kind : kinds) {
    const Floats in = dense_range(kind == ActivationKind::softsign ? 1e30f : 86.0f);
    const Floats out = forward(kind, in);
    double worst = 0;
    float worst_at = 0;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (const double error = ulps(out[i], exact(kind, in[i])); error > worst) worst = error, worst_at = in[i];
    INFO(to_string(kind) << " at " << worst_at << ": " << worst << " ulp");
    CHECK(worst <= 4);
  }
}

TEST_CASE("activation, special values") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float tiny = std::numeric_limits<float>::denorm_min();
  for (const ActivationKind kind : kinds) {
    INFO(to_string(kind));
    CHECK(std::isnan(forward(kind, {nan})[0]));
    CHECK(forward(kind, {1000.0f})[0] == Approx(exact(kind, 1000.0)));
    CHECK(forward(kind, {-1000.0f})[0] == Approx(exact(kind, -1000.0)).margin(1e-37));
  }
  const Floats saturated = forward(ActivationKind::tanh, {infinity, -infinity, 9.1f, -9.1f, 0.0f, -0.0f});
  CHECK(saturated == Floats{1, -1, 1, -1, 0, 0});
  CHECK_FALSE(std::signbit(saturated[4]));
  CHECK(std::signbit(saturated[5]));
  CHECK(forward(ActivationKind::tanh, {tiny, -tiny, 1e-39f}) == Floats{tiny, -tiny, 1e-39f});
  CHECK(forward(ActivationKind::sigmoid, {infinity, 0.0f}) == Floats{1, 0.5f});
  CHECK(forward(ActivationKind::softrelu, {infinity, 20.5f, 50.0f}) == Floats{infinity, 20.5f, 50.0f});
  CHECK(forward(ActivationKind::relu, {infinity, -infinity, -0.5f, 0.0f}) == Floats{infinity, 0, 0, 0});
}

TEST_CASE("activation, tanh never leaves [-1, 1] and is odd") {
  const Floats in = dense_range(20.0f);
  const Floats out = forward(ActivationKind::tanh, in);
  bool bounded = true, odd = true;
  for (std::size_t i = 0; i < in.size(); i += 2) {
    bounded = bounded && std::fabs(out[i]) <= 1;
    odd = odd && out[i] == -out[i + 1];
  }
  CHECK(bounded);
  CHECK(odd);
}

TEST_CASE("activation, a result depends on its element alone") {
  const Floats in = cohort::test::reals(67, 1, 6.0f);
  for (const ActivationKind kind : kinds) {
    INFO(to_string(kind));
    const Floats all = forward(kind, in);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Floats alone = forward(kind, {in[i]});
      CHECK(std::bit_cast<std::uint32_t>(alone[0]) == std::bit_cast<std::uint32_t>(all[i]));
    }
    Floats in_place = in;
    cohort::cpu_backend().activation({kind, 67})->forward(in_place.data(), in_place.data());
    CHECK(in_place == all);
  }
}

TEST_CASE("activation, the gradient is a function of the output") {
  const Floats in = cohort::test::reals(1001, 2, 8.0f);
  const Floats out_grad = cohort::test::reals(1001, 3);
  for (const ActivationKind kind : kinds) {
    INFO(to_string(kind));
    const Floats out = forward(kind, in);
    Floats grad(in.size());
    const auto activation = cohort::cpu_backend().activation({kind, 1001});
    activation->backward(out.data(), out_grad.data(), grad.data());
    // float32 rounding of 1 - y near |y| = 1.
    for (std::size_t i = 0; i < in.size(); ++i)
      CHECK(grad[i] == Approx(out_grad[i] * exact_slope(kind, out[i])).epsilon(1e-5).margin(2e-7));
    Floats in_place = out_grad;
    activation->backward(out.data(), in_place.data(), in_place.data());
    CHECK(in_place == grad);
  }
  const float zero = 0, one = 1;
  float grad = 7;
  cohort::cpu_backend().activation({ActivationKind::relu, 1})->backward(&zero, &one, &grad);
  CHECK(grad == 0);
}

TEST_CASE("activation, names") {
  for (const ActivationKind kind : kinds) CHECK(cohort::activation_from_name(to_string(kind)) == kind);
  CHECK_FALSE(cohort::activation_from_name("Tanh").has_value());
}
