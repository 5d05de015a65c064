// Initial values: the dispatch by name, and the distributions. Draws are fixed by the seed, so the tolerances (stated
// in standard errors of the mean and of the deviation) are met always or never.
#include "runtime/optim/initializer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/base/error.hpp"
#include "test/support/catch.hpp"

using cohort::Error;
using cohort::initialize_parameter;
using cohort::Shape;
using Values = std::vector<float>;

namespace {

Values initial(const std::string& parameter, const Shape& shape, const std::string& chosen = "default",
               const std::string& network = "lenet", std::uint64_t seed = 1,
               const std::optional<std::string>& own = std::nullopt) {
  Values values(static_cast<std::size_t>(shape.count()), -7.0f);
  initialize_parameter(values, shape, parameter, chosen, network, seed, own);
  return values;
}

struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments moments(const Values& values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double square = 0;
  for (const float v : values) square += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  return {mean, std::sqrt(square / n)};
}

// A normal sample of n: the mean is off by sigma/sqrt(n), the deviation by sigma/sqrt(2n); four of each are allowed. A
// normal distribution has 4.55 % outside two deviations and 0.27 % outside three.
void check_normal(const Values& values, double sigma) {
  const auto n = static_cast<double>(values.size());
  const Moments found = moments(values);
  CHECK(std::abs(found.mean) < 4 * sigma / std::sqrt(n));
  CHECK(std::abs(found.deviation - sigma) < 4 * sigma / std::sqrt(2 * n));
  for (const auto& [deviations, share] : {std::pair{2.0, 0.0455}, std::pair{3.0, 0.0027}}) {
    const auto far = [limit = deviations * sigma](float v) { return std::abs(v) > limit; };
    const auto outside = static_cast<double>(std::count_if(values.begin(), values.end(), far));
    CHECK(std::abs(outside / n - share) < 4 * std::sqrt(share / n));
  }
}

// Uniform on (-scale, scale): deviation scale/sqrt(3), and the ends are reached to within a few steps.
void check_uniform(const Values& values, double scale) {
  const auto n = static_cast<double>(values.size());
  const Moments found = moments(values);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  CHECK(std::abs(found.mean) < 4 * scale / std::sqrt(3 * n));
  CHECK(std::abs(found.deviation - scale / std::sqrt(3.0)) < 4 * scale / std::sqrt(n));
  CHECK(*low >= -scale);
  CHECK(*high <= scale);
  CHECK(*low < -scale * (1 - 20 / n));
  CHECK(*high > scale * (1 - 20 / n));
}

const Shape square{200, 500};

}  // namespace

TEST_CASE("names decide what is no weight") {
  const Shape shape{3};
  for (const char* name : {"fc_bias", "bn_beta", "bn_moving_mean", "bn_running_mean", "q_min"})
    CHECK(initial(name, shape) == Values{0, 0, 0});
  for (const char* name : {"bn_gamma", "bn_moving_var", "bn_running_var", "q_max"})
    CHECK(initial(name, shape) == Values{1, 1, 1});
  CHECK_THROWS_AS(initial("embedding", shape), Error);
}

TEST_CASE("the chosen initializer fills weights") {
  CHECK(initial("a_weight", {2}, "one") == Values{1, 1});
  CHECK(initial("a_weight", {2}, "zero") == Values{0, 0});
  check_normal(initial("a_weight", square, "normal"), 0.01);
  check_uniform(initial("a_weight", square, "uniform"), 0.07);
  check_uniform(initial("a_weight", square, "xavier"), std::sqrt(3.0 / 350));
  check_normal(initial("a_weight", square, "msra"), std::sqrt(2 / (1 + 0.0625) / 350));
  // The window counts: fan-in 50 * 25.
  check_normal(initial("a_weight", {40, 50, 5, 5}), std::sqrt(2.0 / 1250));
}

TEST_CASE("the default depends on the network") {
  check_normal(initial("a_weight", square, "default", "lenet"), std::sqrt(2.0 / 500));
  check_normal(initial("a_weight", square, "default", "alexnet"), 0.01);
  check_uniform(initial("a_weight", square, "default", "vgg16"), std::sqrt(3.0 / 350));
  CHECK(initial("a_weight", square, "xavier", "alexnet") == initial("a_weight", square, "xavier", "lenet"));
}

TEST_CASE("values depend on seed, name and element, not on how many there are") {
  const Values values = initial("a_weight", {10, 7});
  CHECK(values == initial("a_weight", {10, 7}));
  CHECK(values != initial("b_weight", {10, 7}));
  CHECK(values != initial("a_weight", {10, 7}, "default", "lenet", 2));
  const Values fewer = initial("a_weight", {9, 7});
  CHECK(std::equal(fewer.begin(), fewer.end(), values.begin()));
}

TEST_CASE("a variable's own text wins over its name") {
  const auto own = [](const std::string& text) { return initial("a_weight", square, "default", "lenet", 1, text); };
  CHECK(own(R"(["zero", {}])") == Values(100'000, 0));
  CHECK(own("ones") == Values(100'000, 1));
  CHECK(own(R"( [ "constant" , {"value":-2.5e-1} ] )") == Values(100'000, -0.25f));
  check_normal(own(R"(["normal", {"sigma": 2}])"), 2);
  check_normal(own(R"(["xavier", {"rnd_type": "gaussian", "factor_type": "out", "magnitude": 8}])"), 0.2);
  check_normal(own(R"(["msraprelu", {"factor_type": "in", "slope": 0}])"), std::sqrt(2.0 / 500));
  CHECK(initial("embedding", {2}, "default", "lenet", 1, R"(["one"])") == Values{1, 1});
  CHECK(initial("a_bias", {2}, "default", "lenet", 1, "") == Values{0, 0});
}

TEST_CASE("what cannot be initialized says why, with the parameter") {
  const auto own = [](const std::string& text) { return initial("a_weight", {4}, "default", "lenet", 1, text); };
  for (const char* text :
       {"[", "[]", "[\"zero\"", "[\"zero\", {]", "[\"zero\", {}] x", "[\"zero\", {\"a\"}]", "[\"zero\", {\"a\": }]",
        "[\"zero\", {\"a\": 1,}]", "{}", "[\"ze\\u0072o\", {}]", "[\"zero\", {\"value\": 1}]", "[\"constant\", {}]",
        "[\"constant\", {\"value\": \"x\"}]", "[\"orthonormal\", {}]"})
    CHECK_THROWS_AS(own(text), Error);
  CHECK_THROWS_AS(initial("a_weight", {4}), Error);  // Xavier needs two axes
  CHECK_THROWS_AS(initial("a_weight", square, "xaver"), Error);
  CHECK_THROWS_WITH(own("[\"normal\", {\"sgima\": 1}]"),
                    "initializer normal takes no argument 'sgima' while initializing a_weight");
  Values three(3);
  CHECK_THROWS_AS(initialize_parameter(three, {4}, "a_bias", "default", "lenet", 1), Error);
}
