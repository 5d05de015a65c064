// Arrays: arithmetic, views, versions, and the order of enqueued work.
#include "runtime/ndarray/ndarray.hpp"

#include <atomic>
#include <thread>

#include "test/support/catch.hpp"
#include "test/support/gate.hpp"
#include "test/support/plain_backend.hpp"

using cohort::Context;
using cohort::cpu;
using cohort::DType;
using cohort::Error;
using cohort::NDArray;
using cohort::Shape;
using cohort::test::Gate;
using cohort::test::plain_backend;
using Values = std::vector<float>;

TEST_CASE("arithmetic is exact and leaves operands alone") {
  Context context(plain_backend());
  const NDArray a = NDArray::from_values(context, {2, 2}, Values{1, 2, 3, 4});
  const NDArray b = NDArray::full(context, {2, 2}, 2);
  CHECK((a + b).values() == Values{3, 4, 5, 6});
  CHECK((a - b).values() == Values{-1, 0, 1, 2});
  CHECK((a * b).values() == Values{2, 4, 6, 8});
  CHECK((a * 0.5f).values() == Values{0.5f, 1, 1.5f, 2});
  CHECK(a.values() == Values{1, 2, 3, 4});
  CHECK(b.values() == Values{2, 2, 2, 2});
}

TEST_CASE("in-place operations write the array they are called on, also with itself as operand") {
  Context context(plain_backend());
  NDArray a = NDArray::from_values(context, {3}, Values{1, 2, 3});
  a += a;
  a -= NDArray::full(context, {3}, 1);
  a *= 4;
  CHECK(a.values() == Values{4, 12, 20});
}

TEST_CASE("a copy of the handle is the same array, copy() is another") {
  Context context(plain_backend());
  NDArray a = NDArray::zeros(context, {2});
  NDArray same = a;
  NDArray other = a.copy();
  same.fill(3);
  CHECK(a.values() == Values{3, 3});
  CHECK(other.values() == Values{0, 0});
}

TEST_CASE("slices and reshapes are views") {
  Context context(plain_backend());
  NDArray base = NDArray::from_values(context, {3, 2}, Values{0, 1, 2, 3, 4, 5});
  NDArray rows = base.slice(1, 3);
  CHECK(rows.shape() == Shape{2, 2});
  CHECK(rows.values() == Values{2, 3, 4, 5});
  NDArray flat = rows.reshape({4});
  flat *= 10;
  CHECK(base.values() == Values{0, 1, 20, 30, 40, 50});
  rows.slice(1, 2).fill(7);
  CHECK(base.values() == Values{0, 1, 20, 30, 7, 7});
  CHECK(base.slice(3, 3).count() == 0);
  CHECK(flat.version() == base.version());
}

TEST_CASE("wrong arguments throw at the call") {
  Context context(plain_backend(), 2);
  const NDArray a = NDArray::zeros(context, {2, 3});
  CHECK_THROWS_AS(a + NDArray::zeros(context, {3, 2}), Error);
  CHECK_THROWS_AS(a + NDArray::zeros(context, {2, 3}, DType::f32, cpu(1)), Error);
  CHECK_THROWS_AS(a + NDArray::zeros(context, {2, 3}, DType::i32), Error);
  CHECK_THROWS_AS(a + NDArray(), Error);
  CHECK_THROWS_AS(NDArray() + a, Error);
  CHECK_THROWS_AS(a.slice(1, 3), Error);
  CHECK_THROWS_AS(a.slice(-1, 1), Error);
  CHECK_THROWS_AS(a.slice(2, 1), Error);
  CHECK_THROWS_AS(a.reshape({7}), Error);
  CHECK_THROWS_AS(NDArray::zeros(context, {2}, DType::f32, cpu(2)), Error);
  CHECK_THROWS_AS(NDArray::zeros(context, {-1}), Error);
  CHECK_THROWS_AS(NDArray::zeros(context, {std::int64_t{1} << 40, std::int64_t{1} << 40}), Error);
  CHECK_THROWS_AS(NDArray::from_values(context, {3}, Values{1, 2}), Error);
  CHECK_THROWS_AS(NDArray::zeros(context, {2}, DType::i32).data(), Error);
  NDArray other = NDArray::zeros(context, {2});
  CHECK_THROWS_AS(a.copy_to(other), Error);
  NDArray half = NDArray::zeros(context, {2, 3}, DType::f16);
  CHECK_THROWS_AS(a.copy_to(half), Error);
}

TEST_CASE("an unknown device is named together with those there are") {
  Context context(plain_backend(), 3);
  CHECK_THROWS_WITH(context.stream({cohort::DeviceKind::gpu, 0}),
                    "there is no device gpu(0); this job has cpu(0) to cpu(2)");
}

TEST_CASE("wrap checks that the array lies in its memory") {
  Context context(plain_backend());
  const auto buffer = cohort::Buffer::allocate(32);
  NDArray tail = NDArray::wrap(context, buffer, 16, {2, 2});
  tail.fill(1);
  CHECK(NDArray::wrap(context, buffer, 0, {8}).values() == Values{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK_THROWS_AS(NDArray::wrap(context, buffer, 20, {4}), Error);
  CHECK_THROWS_AS(NDArray::wrap(context, buffer, 40, {0}), Error);
  CHECK_THROWS_AS(NDArray::wrap(context, buffer, 2, {1}), Error);
}

TEST_CASE("copy_to converts element types") {
  Context context(plain_backend());
  const NDArray a = NDArray::from_values(context, {3}, Values{1.75f, -2.5f, 100});
  for (const DType dtype : {DType::f64, DType::i8, DType::i32, DType::i64}) {
    NDArray b = NDArray::zeros(context, {3}, dtype);
    a.copy_to(b);
    CHECK(b.values() == (dtype == DType::f64 ? Values{1.75f, -2.5f, 100} : Values{1, -2, 100}));
  }
  NDArray bytes = NDArray::zeros(context, {2}, DType::u8);
  bytes.assign(Values{255, 3});
  CHECK(bytes.values() == Values{255, 3});
}

TEST_CASE("calls return before their work runs") {
  Context context(plain_backend());
  NDArray a = NDArray::zeros(context, {1});
  Gate gate;
  context.enqueue(cpu(), {}, {&a.buffer(), 1}, [&] { gate.wait(); });
  a.fill(5);
  const NDArray b = a + a;
  CHECK(a.buffer()->pending());
  gate.open();
  CHECK(b.values() == Values{10});
}

TEST_CASE("work on two labels orders itself by what it reads and writes") {
  Context context(plain_backend(), 2);
  NDArray source = NDArray::full(context, {4}, 1);
  NDArray target = NDArray::zeros(context, {4}, DType::f32, cpu(1));
  Gate gate;
  // Write after write, read after write: the copy on label 1 waits for label 0.
  context.enqueue(cpu(0), {}, {&source.buffer(), 1}, [&] { gate.wait(); });
  source.fill(2);
  source.copy_to(target);
  // Write after read: label 0 must not overwrite before label 1 has copied.
  source.fill(3);
  gate.open();
  CHECK(target.values() == Values{2, 2, 2, 2});
  CHECK(source.values() == Values{3, 3, 3, 3});
}

TEST_CASE("a writer waits for readers on every other label") {
  Context context(plain_backend(), 3);
  NDArray source = NDArray::full(context, {1}, 1);
  source.wait_to_read();
  Gate gate;
  std::atomic<int> seen{0};
  for (const int label : {1, 2})
    context.enqueue(cpu(label), {&source.buffer(), 1}, {}, [&] {
      gate.wait();
      seen += static_cast<const float*>(source.buffer()->data())[0] == 1 ? 1 : 0;
    });
  source.fill(9);
  gate.open();
  CHECK(source.values() == Values{9});
  CHECK(seen == 2);
}

TEST_CASE("ping-pong between labels keeps the sequential result") {
  Context context(plain_backend(), 2);
  NDArray a = NDArray::full(context, {64}, 1);
  NDArray b = NDArray::zeros(context, {64}, DType::f32, cpu(1));
  for (int i = 0; i < 200; ++i) {
    a.copy_to(b);
    b *= 2;
    b.copy_to(a);
    a *= 0.5f;
    a += NDArray::full(context, {64}, 1);
  }
  CHECK(a.values() == Values(64, 201));
}

TEST_CASE("threads that enqueue on the same arrays in opposite order neither hang nor mix") {
  Context context(plain_backend(), 2);
  NDArray a = NDArray::zeros(context, {16});
  NDArray b = NDArray::zeros(context, {16}, DType::f32, cpu(1));
  const auto both = [&](int label, const NDArray& from, const NDArray& to) {
    // One unit of work: every element of both rises by one, or a reader sees them torn.
    context.enqueue(cpu(label), {&from.buffer(), 1}, {&to.buffer(), 1}, [&] {
      auto* in = static_cast<float*>(from.buffer()->data());
      auto* out = static_cast<float*>(to.buffer()->data());
      for (int i = 0; i < 16; ++i) out[i] = in[i] + 1;
    });
  };
  std::thread first([&] {
    for (int i = 0; i < 500; ++i) both(0, b, a);
  });
  std::thread second([&] {
    for (int i = 0; i < 500; ++i) both(1, a, b);
  });
  first.join();
  second.join();
  context.wait_all();
  for (const NDArray& array : {a, b}) CHECK(array.values() == Values(16, array.values()[0]));
}

TEST_CASE("a write raises the version once, a read does not") {
  Context context(plain_backend());
  NDArray a = NDArray::zeros(context, {2});
  const auto start = a.version();
  a.fill(1);
  CHECK(a.version() == start + 1);
  a += a;
  CHECK(a.version() == start + 2);
  const NDArray b = a + a;
  CHECK(b.values() == Values{4, 4});
  CHECK(a.version() == start + 2);
  a.assign(Values{1, 2});
  CHECK(a.version() == start + 3);
  a.slice(0, 1).fill(0);
  CHECK(a.version() == start + 4);
  a.bump_version();
  CHECK(a.version() == start + 5);
}
