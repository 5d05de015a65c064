// Learning-rate schedules against values worked out by hand, at the updates where they change.
#include "runtime/optim/schedule.hpp"

#include "kernels/base/error.hpp"
#include "test/support/catch.hpp"

using cohort::cosine_schedule;
using cohort::Error;
using cohort::factor_schedule;
using cohort::multi_factor_schedule;
using cohort::poly_schedule;

TEST_CASE("factor: the update numbered k * step still has the old rate") {
  const auto schedule = factor_schedule(3, 0.5);
  CHECK(schedule->rate(8, 1) == 8);
  CHECK(schedule->rate(8, 3) == 8);
  CHECK(schedule->rate(8, 4) == 4);
  CHECK(schedule->rate(8, 6) == 4);
  CHECK(schedule->rate(8, 7) == 2);
  CHECK(schedule->rate(8, 10) == 1);
}

TEST_CASE("factor: never below the stop rate, but for a base that starts there") {
  const auto schedule = factor_schedule(1, 0.5, 3);
  CHECK(schedule->rate(8, 2) == 4);
  CHECK(schedule->rate(8, 3) == 3);
  CHECK(schedule->rate(8, 1'000'000'000) == 3);
  CHECK(schedule->rate(2, 1) == 2);
}

TEST_CASE("multi factor: each step is the last update of its rate") {
  const auto schedule = multi_factor_schedule({2, 5, 6}, 0.5);
  CHECK(schedule->rate(8, 2) == 8);
  CHECK(schedule->rate(8, 3) == 4);
  CHECK(schedule->rate(8, 5) == 4);
  CHECK(schedule->rate(8, 6) == 2);
  CHECK(schedule->rate(8, 7) == 1);
  CHECK(schedule->rate(8, 1000) == 1);
  CHECK(multi_factor_schedule({}, 0.5)->rate(8, 1000) == 8);
}

TEST_CASE("poly: falls to the final rate at the last update and stays") {
  const auto schedule = poly_schedule(8);
  CHECK(schedule->rate(64, 4) == 16);
  CHECK(schedule->rate(64, 6) == 4);
  CHECK(schedule->rate(64, 8) == 0);
  CHECK(schedule->rate(64, 9) == 0);
  const auto linear = poly_schedule(8, 1, 16);
  CHECK(linear->rate(64, 2) == 52);
  CHECK(linear->rate(64, 8) == 16);
  CHECK(linear->rate(64, 100) == 16);
}

TEST_CASE("cosine: half way is the mean of both ends") {
  const auto schedule = cosine_schedule(8, 2);
  // cos(pi/2) is not exactly 0 in double.
  CHECK(schedule->rate(6, 4) == Approx(4).epsilon(1e-15));
  CHECK(schedule->rate(6, 0) == 6);
  CHECK(schedule->rate(6, 8) == 2);
  CHECK(schedule->rate(6, 9) == 2);
}

TEST_CASE("warm-up is linear and ends before the update that it is long") {
  const auto schedule = multi_factor_schedule({6}, 0.5, {4, 2});
  CHECK(schedule->rate(10, 1) == 4);
  CHECK(schedule->rate(10, 2) == 6);
  CHECK(schedule->rate(10, 3) == 8);
  CHECK(schedule->rate(10, 4) == 10);
  CHECK(schedule->rate(10, 6) == 10);
  CHECK(schedule->rate(10, 7) == 5);
  // Poly and cosine count from the end of the warm-up.
  const auto poly = poly_schedule(8, 1, 0, {4, 0});
  CHECK(poly->rate(8, 2) == 4);
  CHECK(poly->rate(8, 4) == 8);
  CHECK(poly->rate(8, 6) == 4);
  CHECK(cosine_schedule(8, 0, {4, 0})->rate(8, 4) == 8);
  CHECK(factor_schedule(5, 0.5, 0, {4, 0})->rate(8, 6) == 4);
}

TEST_CASE("schedules that make no sense are refused") {
  CHECK_THROWS_AS(factor_schedule(0, 0.5), Error);
  CHECK_THROWS_AS(factor_schedule(1, 1.5), Error);
  CHECK_THROWS_AS(factor_schedule(1, 0), Error);
  CHECK_THROWS_AS(multi_factor_schedule({0}, 0.5), Error);
  CHECK_THROWS_AS(multi_factor_schedule({3, 3}, 0.5), Error);
  CHECK_THROWS_AS(multi_factor_schedule({3, 2}, 0.5), Error);
  CHECK_THROWS_AS(poly_schedule(0), Error);
  CHECK_THROWS_AS(poly_schedule(4, 2, 0, {4, 0}), Error);
  CHECK_THROWS_AS(poly_schedule(4, -1), Error);
  CHECK_THROWS_AS(cosine_schedule(4, -1), Error);
  CHECK_THROWS_AS(factor_schedule(1, 0.5, 0, {4, -1}), Error);
  CHECK_THROWS_AS(factor_schedule(1, 0.5, 0, {4, 3})->rate(2, 1), Error);
}
