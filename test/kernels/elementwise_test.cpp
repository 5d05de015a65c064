// Element-wise kernels and the change of memory layout.
#include <vector>

#include "kernels/base/backend.hpp"
#include "kernels/base/error.hpp"
#include "kernels/elementwise.hpp"
#include "test/kernels/reference.hpp"
#include "test/support/catch.hpp"

namespace {

using cohort::DType;
using cohort::Layout;
using cohort::Shape;
using cohort::test::difference;
using cohort::test::integers;
using Floats = std::vector<float>;

}  // namespace

TEST_CASE("elementwise, sums, products and fills, in place too") {
  const auto ops = cohort::cpu_backend().elementwise();
  for (const std::int64_t count : {0, 1, 15, 16, 17, 100, 70001}) {
    INFO(count << " elements");
    const Floats a = integers(count, 1), b = integers(count, 2);
    Floats out(a.size()), want(a.size());
    ops->fill(out.data(), count, 2.5f);
    CHECK(out == Floats(a.size(), 2.5f));
    for (std::size_t i = 0; i < a.size(); ++i) want[i] = 4 * a[i] - 0.5f;
    ops->affine(a.data(), 4, -0.5f, out.data(), count);
    CHECK(difference(out, want).empty());
    for (std::size_t i = 0; i < a.size(); ++i) want[i] = a[i] + b[i];
    ops->add(a.data(), b.data(), out.data(), count);
    CHECK(difference(out, want).empty());
    for (std::size_t i = 0; i < a.size(); ++i) want[i] = a[i] - b[i];
    ops->subtract(a.data(), b.data(), out.data(), count);
    CHECK(difference(out, want).empty());
    out = b;
    ops->subtract(a.data(), out.data(), out.data(), count);
    CHECK(difference(out, want).empty());
    for (std::size_t i = 0; i < a.size(); ++i) want[i] = a[i] * b[i];
    out = a;
    ops->multiply(out.data(), b.data(), out.data(), count);
    CHECK(difference(out, want).empty());
  }
}

TEST_CASE("elementwise, layouts convert both ways") {
  const auto ops = cohort::cpu_backend().elementwise();
  for (const Shape& shape : {Shape{1, 1, 4, 5}, Shape{3, 3, 5, 7}, Shape{2, 20, 12, 12}, Shape{2, 50, 4, 4},
                             Shape{5, 17, 1, 1}, Shape{1, 33, 3, 1}}) {
    INFO(to_string(shape));
    const Floats in = integers(shape.count(), 1);
    Floats want(in.size()), out(in.size()), back(in.size());
    const std::int64_t channels = shape[1], pixels = shape[2] * shape[3];
    for (std::int64_t n = 0; n < shape[0]; ++n)
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t p = 0; p < pixels; ++p)
          want[(n * pixels + p) * channels + c] = in[(n * channels + c) * pixels + p];
    ops->convert({in.data(), shape, DType::f32, Layout::row_major},
                 {out.data(), shape, DType::f32, Layout::channels_last});
    CHECK(difference(out, want).empty());
    ops->convert({out.data(), shape, DType::f32, Layout::channels_last},
                 {back.data(), shape, DType::f32, Layout::row_major});
    CHECK(back == in);
    ops->convert({in.data(), shape, DType::f32, Layout::channels_last},
                 {back.data(), shape, DType::f32, Layout::channels_last});
    CHECK(back == in);
  }
}

TEST_CASE("elementwise, conversion refuses what it cannot convert") {
  const auto ops = cohort::cpu_backend().elementwise();
  Floats a(6), b(6);
  CHECK_THROWS_AS(ops->convert({a.data(), Shape{2, 3}}, {b.data(), Shape{3, 2}}), cohort::Error);
  CHECK_THROWS_AS(ops->convert({a.data(), Shape{2, 3}, DType::f32, Layout::channels_last}, {b.data(), Shape{2, 3}}),
                  cohort::Error);
  CHECK_THROWS_AS(ops->convert({a.data(), Shape{2, 3}, DType::i32}, {b.data(), Shape{2, 3}}), cohort::Error);
}
