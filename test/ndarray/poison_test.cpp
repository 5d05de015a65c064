// Deferred errors: what a failed task leaves behind, who inherits it, and when it is thrown.
#include <array>
#include <stdexcept>

#include "runtime/ndarray/ndarray.hpp"
#include "test/support/catch.hpp"
#include "test/support/plain_backend.hpp"

using cohort::Context;
using cohort::cpu;
using cohort::DType;
using cohort::NDArray;
using cohort::test::plain_backend;
using Values = std::vector<float>;

namespace {

// Enqueues work that writes `array` and fails.
void fail(Context& context, const NDArray& array, const char* text = "broken") {
  context.enqueue(array.device(), {}, {&array.buffer(), 1}, [text] { throw std::runtime_error(text); });
}

}  // namespace

TEST_CASE("an error inside a task is thrown at the wait, once") {
  Context context(plain_backend());
  NDArray a = NDArray::zeros(context, {2});
  REQUIRE_NOTHROW(fail(context, a));
  CHECK_THROWS_WITH(a.wait_to_read(), "broken");
  CHECK_NOTHROW(a.wait_to_read());
  CHECK(a.values() == Values{0, 0});
  a.fill(4);
  CHECK(a.values() == Values{4, 4});
}

TEST_CASE("every way of waiting throws") {
  Context context(plain_backend());
  const NDArray a = NDArray::zeros(context, {2});
  NDArray b = a;
  fail(context, a);
  CHECK_THROWS_WITH(a.values(), "broken");
  fail(context, a);
  CHECK_THROWS_WITH(a.wait_to_write(), "broken");
  fail(context, a);
  CHECK_THROWS_WITH(a.data(), "broken");
  fail(context, a);
  CHECK_THROWS_WITH(b.assign(Values{1, 2}), "broken");
  CHECK(a.values() == Values{0, 0});
}

TEST_CASE("work that reads a poisoned array is skipped and its writes inherit the error") {
  Context context(plain_backend());
  NDArray a = NDArray::zeros(context, {1});
  NDArray b = NDArray::full(context, {1}, 5);
  bool ran = false;
  fail(context, a);
  context.enqueue(cpu(), {&a.buffer(), 1}, {&b.buffer(), 1}, [&] { ran = true; });
  const NDArray c = b + b;
  CHECK_THROWS_WITH(c.values(), "broken");
  CHECK_THROWS_WITH(b.values(), "broken");
  CHECK_FALSE(ran);
  CHECK(b.values() == Values{5});
  // Throwing at b and c has not cleared a.
  CHECK_THROWS_WITH(a.values(), "broken");
  CHECK_NOTHROW(context.wait_all());
}

TEST_CASE("work that writes a poisoned array is skipped, and poisons its other writes") {
  Context context(plain_backend());
  NDArray a = NDArray::zeros(context, {1});
  NDArray b = NDArray::zeros(context, {1});
  bool ran = false;
  fail(context, a);
  const std::array writes{b.buffer(), a.buffer()};
  context.enqueue(cpu(), {}, writes, [&] { ran = true; });
  CHECK_THROWS_WITH(b.values(), "broken");
  CHECK_FALSE(ran);
  a.fill(1);
  CHECK_THROWS_WITH(a.values(), "broken");
  CHECK(a.values() == Values{0});
}

TEST_CASE("a failing task poisons everything it would have written, and not what it read") {
  Context context(plain_backend());
  const NDArray read = NDArray::full(context, {1}, 1);
  const NDArray a = NDArray::zeros(context, {1});
  const NDArray b = NDArray::zeros(context, {1});
  const std::array writes{a.buffer(), b.buffer()};
  context.enqueue(cpu(), {&read.buffer(), 1}, writes, [] { throw std::runtime_error("broken"); });
  CHECK(read.values() == Values{1});
  CHECK_THROWS_WITH(a.values(), "broken");
  CHECK_THROWS_WITH(b.values(), "broken");
}

TEST_CASE("poison travels between labels and through views") {
  Context context(plain_backend(), 2);
  NDArray a = NDArray::zeros(context, {2, 2});
  NDArray b = NDArray::zeros(context, {1, 2}, DType::f32, cpu(1));
  fail(context, a.slice(1, 2));
  a.slice(0, 1).copy_to(b);
  CHECK_THROWS_WITH(b.values(), "broken");
  CHECK_THROWS_WITH(a.reshape({4}).values(), "broken");
  CHECK_NOTHROW(a.values());
}

TEST_CASE("the first of several errors is kept") {
  Context context(plain_backend());
  const NDArray a = NDArray::zeros(context, {1});
  fail(context, a, "first");
  fail(context, a, "second");
  CHECK_THROWS_WITH(a.values(), "first");
  CHECK_NOTHROW(a.values());
}

TEST_CASE("wait_all throws what no wait has thrown, once, and clears the arrays") {
  Context context(plain_backend(), 2);
  const NDArray a = NDArray::zeros(context, {1});
  const NDArray b = NDArray::zeros(context, {1}, DType::f32, cpu(1));
  CHECK_NOTHROW(context.wait_all());
  fail(context, a);
  CHECK_THROWS_WITH(a.values(), "broken");
  CHECK_NOTHROW(context.wait_all());
  fail(context, a);
  fail(context, b);
  CHECK_THROWS_WITH(context.wait_all(), "broken");
  CHECK_NOTHROW(context.wait_all());
  CHECK_NOTHROW(a.values());
  CHECK_NOTHROW(b.values());
}

TEST_CASE("wait_all throws the error of an array that is gone") {
  Context context(plain_backend());
  for (int i = 0; i < 3; ++i) fail(context, NDArray::zeros(context, {1}));
  CHECK_THROWS_WITH(context.wait_all(), "broken");
  CHECK_NOTHROW(context.wait_all());
}

TEST_CASE("wait_all does not repeat the error of an array that has thrown it and is gone") {
  Context context(plain_backend());
  {
    const NDArray a = NDArray::zeros(context, {1});
    fail(context, a);
    CHECK_THROWS_WITH(a.wait_to_read(), "broken");
  }
  {
    const NDArray a = NDArray::zeros(context, {1});
    fail(context, a);
    CHECK_THROWS_WITH(a.wait_to_write(), "broken");
  }
  CHECK_NOTHROW(context.wait_all());
}

TEST_CASE("an error nobody waits for ends with the context") {
  Context context(plain_backend());
  fail(context, NDArray::zeros(context, {1}));
}
