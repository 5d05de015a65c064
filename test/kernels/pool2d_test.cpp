// Pooling against a plain loop that follows the rules word for word.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/base/backend.hpp"
#include "kernels/base/error.hpp"
#include "kernels/pool2d.hpp"
#include "test/kernels/reference.hpp"
#include "test/support/catch.hpp"

namespace {

using cohort::Pool2dSpec;
using cohort::PoolKind;
using cohort::test::difference;
using cohort::test::integers;
using Floats = std::vector<float>;

// One window's cells in row-major order: visit(offset within the image), and the size of what avg divides by.
template <class Visit>
double over_cells(const Pool2dSpec& s, std::int64_t row, std::int64_t column, const Visit& visit) {
  std::int64_t real = 0, padded = 0;
  for (std::int64_t ky = 0; ky < s.kernel[0]; ++ky)
    for (std::int64_t kx = 0; kx < s.kernel[1]; ++kx) {
      const std::int64_t y = row * s.stride[0] - s.pad[0] + ky, x = column * s.stride[1] - s.pad[1] + kx;
      if (y < s.height + s.pad[0] && x < s.width + s.pad[1]) ++padded;
      if (y < 0 || y >= s.height || x < 0 || x >= s.width) continue;
      ++real;
      visit((y * s.width + x) * s.channels);
    }
  if (s.kind == PoolKind::sum) return 1;
  return static_cast<double>(std::max<std::int64_t>(s.count_include_pad ? padded : real, 1));
}

void check_pooling(const Pool2dSpec& s, const Floats& data) {
  INFO("kind " << static_cast<int>(s.kind) << " batch " << s.batch << " channels " << s.channels << " size " << s.height
               << "x" << s.width << " kernel " << s.kernel[0] << "x" << s.kernel[1] << " stride " << s.stride[0]
               << " pad " << s.pad[0] << " out " << s.out_height << "x" << s.out_width);
  const std::int64_t image = s.height * s.width * s.channels;
  const std::int64_t out_count = s.batch * s.out_height * s.out_width * s.channels;
  const Floats out_grad = integers(out_count, 2);
  Floats want(out_count), want_grad(data.size());
  for (std::int64_t at = 0; at < out_count; ++at) {
    const std::int64_t c = at % s.channels, pixel = at / s.channels % (s.out_height * s.out_width);
    const std::int64_t base = at / (s.channels * s.out_height * s.out_width) * image + c;
    const std::int64_t row = pixel / s.out_width, column = pixel % s.out_width;
    std::int64_t best = -1;
    double sum = 0;
    const double divisor = over_cells(s, row, column, [&](std::int64_t cell) {
      sum += data[base + cell];
      if (best < 0 || data[base + cell] > data[best]) best = base + cell;
    });
    if (s.kind == PoolKind::max) {
      want[at] = best < 0 ? -std::numeric_limits<float>::infinity() : data[best];
      if (best >= 0) want_grad[best] += out_grad[at];
    } else {
      want[at] = static_cast<float>(sum) / static_cast<float>(divisor);
      over_cells(s, row, column,
                 [&](std::int64_t cell) { want_grad[base + cell] += out_grad[at] / static_cast<float>(divisor); });
    }
  }
  const auto pool = cohort::cpu_backend().pool2d(s);
  Floats out(out_count), without_workspace(out_count), grad(data.size(), NAN);
  std::vector<std::byte> workspace(pool->workspace_bytes());
  CHECK((s.kind == PoolKind::max) == (pool->workspace_bytes() > 0));
  pool->forward(data.data(), out.data(), workspace.data());
  CHECK(difference(out, want).empty());
  pool->forward(data.data(), without_workspace.data(), nullptr);
  CHECK(difference(without_workspace, want).empty());
  pool->backward(out_grad.data(), workspace.data(), grad.data());
  CHECK(difference(grad, want_grad).empty());
}

// Integers from a small range: full of ties.
void check_pooling(const Pool2dSpec& s) { check_pooling(s, integers(s.batch * s.height * s.width * s.channels, 1)); }

Pool2dSpec with_out_size(Pool2dSpec s, bool full) {
  const auto extent = [&](std::int64_t in, std::size_t axis) {
    const std::int64_t span = in + 2 * s.pad[axis] - s.kernel[axis];
    return (full ? (span + s.stride[axis] - 1) / s.stride[axis] : span / s.stride[axis]) + 1;
  };
  s.out_height = extent(s.height, 0);
  s.out_width = extent(s.width, 1);
  return s;
}

}  // namespace

TEST_CASE("pooling, values and gradients equal a plain loop, ties included") {
  for (const PoolKind kind : {PoolKind::max, PoolKind::avg, PoolKind::sum})
    for (const std::int64_t channels : {1, 3, 16, 20, 37})
      for (const bool full : {false, true}) {
        Pool2dSpec s{.kind = kind, .batch = 3, .channels = channels, .height = 9, .width = 7};
        s.kernel = s.stride = {2, 2};
        check_pooling(with_out_size(s, full));
        s.height = 8;
        s.width = 12;
        check_pooling(with_out_size(s, full));
        s.kernel = {3, 3};
        check_pooling(with_out_size(s, full));
        s.pad = {1, 1};
        check_pooling(with_out_size(s, full));
        s.count_include_pad = false;
        check_pooling(with_out_size(s, full));
        s.kernel = {4, 1};
        s.stride = {1, 3};
        s.pad = {2, 0};
        check_pooling(with_out_size(s, full));
        s.kernel = {s.height, s.width};
        s.stride = {1, 1};
        s.pad = {0, 0};
        check_pooling(with_out_size(s, full));
      }
}

TEST_CASE("pooling, a window wholly in the padding has no maximum and no gradient") {
  Pool2dSpec s{.kind = PoolKind::max, .batch = 1, .channels = 2, .height = 3, .width = 3};
  s.kernel = {1, 1};
  s.stride = {2, 2};
  s.pad = {1, 1};
  check_pooling(with_out_size(s, true));
}

TEST_CASE("pooling, the first maximum in row-major order takes the gradient") {
  for (const std::int64_t channels : {1, 5, 16, 20}) {
    Pool2dSpec s{.kind = PoolKind::max, .batch = 1, .channels = channels, .height = 2, .width = 2};
    s.out_height = s.out_width = 1;
    s.kernel = s.stride = {2, 2};
    const Floats equal(static_cast<std::size_t>(4 * channels), 3.0f);
    check_pooling(s, equal);
    const Floats lowest(static_cast<std::size_t>(4 * channels), -std::numeric_limits<float>::infinity());
    check_pooling(s, lowest);
  }
}

TEST_CASE("pooling, NaN is passed on wherever it stands in the window") {
  for (const std::int64_t kernel : {2, 3})
    for (std::int64_t at = 0; at < kernel * kernel; ++at) {
      Pool2dSpec s{.kind = PoolKind::max, .batch = 1, .channels = 1, .height = kernel, .width = kernel};
      s.out_height = s.out_width = 1;
      s.kernel = s.stride = {kernel, kernel};
      Floats data(static_cast<std::size_t>(kernel * kernel), 1.0f);
      data[static_cast<std::size_t>(at)] = NAN;
      float out = 0;
      std::int32_t position = -1;
      cohort::cpu_backend().pool2d(s)->forward(data.data(), &out, &position);
      CHECK(std::isnan(out));
      CHECK(position == at);
    }
}

TEST_CASE("pooling, wrong specs are refused") {
  CHECK_THROWS_AS(cohort::cpu_backend().pool2d({}), cohort::Error);
  CHECK_THROWS_AS(
      cohort::cpu_backend().pool2d(
          {.batch = 1, .channels = 1, .height = 2, .width = 2, .out_height = 1, .out_width = 1, .stride = {0, 1}}),
      cohort::Error);
}
