// What holds call after call: nothing stays allocated, own loops allocate nothing at all, and two threads give the bits
// of one.
#include <malloc.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "kernels/activation.hpp"
#include "kernels/base/backend.hpp"
#include "kernels/base/compute_threads.hpp"
#include "kernels/conv2d.hpp"
#include "kernels/dense.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/pool2d.hpp"
#include "kernels/softmax_output.hpp"
#include "test/kernels/reference.hpp"
#include "test/support/catch.hpp"

namespace {

std::size_t allocated_count = 0;
std::size_t largest_allocation = 0;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocated_count;
  largest_allocation = std::max(largest_allocation, bytes);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using cohort::test::reals;
using Floats = std::vector<float>;

struct Allocations {
  std::size_t count, largest;
  std::size_t grown_bytes;
};

// What calls allocate after the first has been made. What stays allocated is the least of several rounds: malloc's own
// caches fill in some of them, a leak shows in all.
Allocations allocations_of(const std::function<void()>& call) {
  call();
  Allocations result{0, 0, std::numeric_limits<std::size_t>::max()};
  for (int round = 0; round < 5; ++round) {
    const auto in_use = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
    const std::size_t before = in_use();
    allocated_count = largest_allocation = 0;
    for (int i = 0; i < 4; ++i) call();
    const std::size_t after = in_use();
    result.grown_bytes = std::min(result.grown_bytes, after > before ? after - before : 0);
    result.count = std::max(result.count, allocated_count);
    result.largest = std::max(result.largest, largest_allocation);
  }
  return result;
}

std::uint32_t hash_of(const Floats& values) {
  std::uint32_t hash = 2166136261u;
  for (const float value : values) hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 16777619u;
  return hash;
}

// Every kernel that is a loop of ours, at a size that two threads share; results go to the returned array.
struct Loops {
  static constexpr std::int64_t batch = 32, channels = 20, size = 24;
  static constexpr std::int64_t count = batch * channels * size * size;
  const cohort::Backend& backend = cohort::cpu_backend();
  Floats a = reals(count, 1, 4.0f), b = reals(count, 2), labels = reals(count, 3, 20.0f), out = Floats(count);
  cohort::Shape shape{batch, channels, size, size};
  std::vector<std::byte> workspace = std::vector<std::byte>(count * sizeof(std::int32_t));
  cohort::ConstTensorView rows{a.data(), shape, cohort::DType::f32, cohort::Layout::row_major};
  cohort::TensorView pixels{out.data(), shape, cohort::DType::f32, cohort::Layout::channels_last};
  std::vector<std::function<void()>> calls;

  Loops() {
    for (const auto kind : {cohort::ActivationKind::relu, cohort::ActivationKind::sigmoid, cohort::ActivationKind::tanh,
                            cohort::ActivationKind::softrelu, cohort::ActivationKind::softsign}) {
      const std::shared_ptr<cohort::Activation> activation = backend.activation({kind, count});
      calls.emplace_back([=, this] { activation->forward(a.data(), out.data()); });
      calls.emplace_back([=, this] { activation->backward(a.data(), b.data(), out.data()); });
    }
    for (const auto kind : {cohort::PoolKind::max, cohort::PoolKind::avg, cohort::PoolKind::sum})
      for (const std::int64_t window : {2, 3}) add_pool(kind, window);
    for (const std::int64_t inner : {1, 576}) {
      const std::int64_t outer = count / 20 / inner;
      const std::shared_ptr<cohort::SoftmaxOutput> softmax = backend.softmax_output(
          {.outer = outer, .classes = 20, .inner = inner, .label_count = outer, .multi_output = inner > 1});
      calls.emplace_back([=, this] { softmax->forward(a.data(), out.data()); });
      calls.emplace_back([=, this] { softmax->backward(a.data(), labels.data(), nullptr, out.data()); });
    }
    add_elementwise();
  }

  void add_pool(cohort::PoolKind kind, std::int64_t window) {
    cohort::Pool2dSpec spec{.kind = kind, .batch = batch, .channels = channels, .height = size, .width = size};
    spec.kernel = {window, window};
    spec.stride = {2, 2};
    spec.out_height = spec.out_width = (size - window) / 2 + 1;
    const std::shared_ptr<cohort::Pool2d> pool = backend.pool2d(spec);
    calls.emplace_back([=, this] { pool->forward(a.data(), out.data(), workspace.data()); });
    calls.emplace_back([=, this] { pool->backward(b.data(), workspace.data(), out.data()); });
  }

  void add_elementwise() {
    const std::shared_ptr<cohort::Elementwise> ops = backend.elementwise();
    calls.emplace_back([=, this] { ops->fill(out.data(), count, 3); });
    calls.emplace_back([=, this] { ops->affine(a.data(), 2, 1, out.data(), count); });
    calls.emplace_back([=, this] { ops->multiply(a.data(), b.data(), out.data(), count); });
    calls.emplace_back([=, this] { ops->convert(rows, pixels); });
  }
};

}  // namespace

TEST_CASE("kernels, own loops allocate nothing") {
  Loops loops;
  for (std::size_t i = 0; i < loops.calls.size(); ++i) {
    INFO("call " << i);
    CHECK(allocations_of(loops.calls[i]).count == 0);
  }
}

// oneDNN makes a small table of the arguments in every call; what matters is that no memory for data is among it and
// that nothing stays.
TEST_CASE("kernels, primitives leave nothing allocated and take no memory for data") {
  const cohort::Conv2dSpec spec{.batch = 8, .channels = 20, .height = 12, .width = 12, .filters = 50, .kernel = {5, 5}};
  const Floats in = reals(8 * 20 * 144, 1), weight = reals(50 * 500, 2), bias(50), head = reals(8 * 64 * 50, 3);
  Floats out(8 * 64 * 50), in_grad(in.size()), weight_grad(weight.size()), bias_grad(50);
  const auto conv = cohort::cpu_backend().conv2d(spec);
  // 32 channels: all passes are primitives.
  const auto wide = cohort::cpu_backend().conv2d(
      {.batch = 2, .channels = 32, .height = 12, .width = 12, .filters = 16, .kernel = {3, 3}});
  const auto dense = cohort::cpu_backend().dense({.batch = 8, .inputs = 500, .outputs = 50});
  std::uint64_t version = 0;
  const std::function<void()> calls[] = {
      [&] {
        conv->forward(in.data(), {weight.data(), ++version}, bias.data(), out.data());
      },
      [&] {
        conv->backward_data(head.data(), {weight.data(), ++version}, in_grad.data());
      },
      [&] { conv->backward_weights(in.data(), head.data(), weight_grad.data(), bias_grad.data()); },
      [&] {
        wide->forward(in.data(), {weight.data(), ++version}, bias.data(), out.data());
      },
      [&] {
        wide->backward_data(head.data(), {weight.data(), ++version}, in_grad.data());
      },
      [&] { wide->backward_weights(in.data(), head.data(), weight_grad.data(), bias_grad.data()); },
      [&] {
        dense->forward(in.data(), {weight.data(), ++version}, bias.data(), out.data());
      },
      [&] {
        dense->backward_data(head.data(), {weight.data(), version}, in_grad.data());
      },
      [&] { dense->backward_weights(in.data(), head.data(), weight_grad.data(), bias_grad.data()); },
  };
  for (const auto& call : calls) {
    INFO("call " << &call - calls);
    const Allocations allocations = allocations_of(call);
    CHECK(allocations.grown_bytes == 0);
    CHECK(allocations.largest < 1024);
  }
}

// The same constants in every build: with function clones of any instruction set and without, from any compiler.
TEST_CASE("kernels, own loops give the same bits in every build") {
  const std::vector<std::uint32_t> expected = {0x32d7326b, 0x19d35557, 0xcff4e70f, 0xd37e1e51, 0xcf42f4e7, 0x2a3d6610,
                                               0x9ce8b4e6, 0xe3ff463d, 0xd195c468, 0x6c1830fe, 0xf4253311, 0xcf4d7f3b,
                                               0x63401801, 0xbdbd1828, 0xc515e843, 0xcc3907e5, 0xbe79401a, 0x29b731bf,
                                               0x6715e843, 0x023907e5, 0x3f004236, 0x04bac0a4, 0x6da21226, 0xb9559e0e,
                                               0xb57e2605, 0x585561f6, 0x58611dc5, 0x5ebb3bb9, 0x4adcd6c5, 0xf21f88af};
  Loops loops;
  std::vector<std::uint32_t> hashes;
  for (const auto& call : loops.calls) {
    std::fill(loops.out.begin(), loops.out.end(), 0.0f);
    call();
    hashes.push_back(hash_of(loops.out));
  }
  CHECK(hashes == expected);
}

TEST_CASE("kernels, two threads give the bits of one") {
  Loops loops;
  for (std::size_t i = 0; i < loops.calls.size(); ++i) {
    INFO("call " << i);
    Floats results[2];
    for (const int threads : {1, 2}) {
      cohort::set_compute_threads(threads);
      std::fill(loops.out.begin(), loops.out.end(), 0.0f);
      loops.calls[i]();
      results[threads - 1] = loops.out;
    }
    CHECK(cohort::test::difference(results[1], results[0]).empty());
  }
}
