// Counts heap allocations of a training step; a program of its own, since it replaces operator new.
#include <cstdlib>
#include <new>

#include "kernels/conv2d.hpp"
#include "runtime/models/models.hpp"
#include "test/graph/graph_support.hpp"
#include "test/support/catch.hpp"

namespace {

std::size_t allocations = 0;
bool counting = true;

}  // namespace

void* operator new(std::size_t bytes) {
  if (counting) ++allocations;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace cohort;
using namespace cohort::test;

namespace {

// The real convolution, uncounted: running a primitive of oneDNN allocates inside the library.
class UncountedConv2d final : public Conv2d {
 public:
  explicit UncountedConv2d(const Conv2dSpec& spec) : kernel_(cpu_backend().conv2d(spec)) {}
  void forward(const float* data, Parameter weight, const float* bias, float* out) override {
    counting = false;
    kernel_->forward(data, weight, bias, out);
    counting = true;
  }
  void backward_data(const float* out_grad, Parameter weight, float* data_grad) override {
    counting = false;
    kernel_->backward_data(out_grad, weight, data_grad);
    counting = true;
  }
  void backward_weights(const float* data, const float* out_grad, float* weight_grad, float* bias_grad) override {
    counting = false;
    kernel_->backward_weights(data, out_grad, weight_grad, bias_grad);
    counting = true;
  }

 private:
  std::unique_ptr<Conv2d> kernel_;
};

Backend uncounted_backend() {
  Backend backend = cpu_backend();
  backend.conv2d = [](const Conv2dSpec& spec) -> std::unique_ptr<Conv2d> {
    return std::make_unique<UncountedConv2d>(spec);
  };
  return backend;
}

}  // namespace

TEST_CASE("a step allocates nothing after the first") {
  const Backend backend = uncounted_backend();
  Context context(backend);
  for (const ModelRow& row : model_table()) {
    const auto executor =
        Executor::simple_bind(row.build({}), context, cpu(), {{"data", {8, 1, 28, 28}}, {"softmax_label", {8}}});
    std::size_t reported = 0;
    executor->on_gradient_ready([&](std::size_t) { ++reported; });
    const auto step = [&] {
      executor->forward(true);
      executor->backward();
      for (const auto& argument : executor->arguments()) argument.second.bump_version();
    };
    step();
    const std::size_t before = allocations;
    for (int i = 0; i < 3; ++i) step();
    const std::size_t after = allocations;
    INFO(row.name);
    CHECK(after - before == 0);
    CHECK(reported == 4 * executor->gradients().size());
  }
}
