// Shapes: how elements are counted, also where there are too many.
#include <limits>

#include "kernels/base/host_memory.hpp"
#include "kernels/base/shape.hpp"
#include "test/support/catch.hpp"

using cohort::Shape;

TEST_CASE("shape, elements are counted") {
  CHECK(Shape{}.count() == 0);
  CHECK(Shape{5}.count() == 5);
  CHECK(Shape{2, 3, 4}.count() == 24);
  CHECK(Shape{2, 0, 4}.count() == 0);
}

TEST_CASE("shape, more elements than numbers go are the largest number, and none are none") {
  constexpr std::int64_t big = std::int64_t{1} << 32;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(Shape{big, big / 4}.count() == std::int64_t{1} << 62);
  CHECK(Shape{big, big}.count() == most);
  CHECK(Shape{3, big, big, 7}.count() == most);
  CHECK(Shape{0, big, big}.count() == 0);
  CHECK(Shape{big, big, 0}.count() == 0);
}

TEST_CASE("host memory is some, and no more than numbers of bytes go") {
  CHECK(cohort::host_memory_bytes() >= std::uint64_t{1} << 20);
}
