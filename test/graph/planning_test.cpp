// What an executor decides when it is bound: which kernels it makes and where it converts layouts; and that it waits
// for work on its arrays.
#include <chrono>
#include <thread>

#include "kernels/conv2d.hpp"
#include "kernels/elementwise.hpp"
#include "runtime/models/models.hpp"
#include "test/graph/graph_support.hpp"
#include "test/support/catch.hpp"
#include "test/support/gate.hpp"

using namespace cohort;
using namespace cohort::test;
using Values = std::vector<float>;

namespace {

// What the recording backend has been asked for; a backend is a table of plain functions and has no state of its own.
struct Record {
  std::vector<Conv2dSpec> convolutions;
  int conversions = 0;
};
Record record;

class CountingElementwise final : public Elementwise {
 public:
  void fill(float* out, std::int64_t count, float value) override { kernel_->fill(out, count, value); }
  void affine(const float* a, float scale, float shift, float* out, std::int64_t count) override {
    kernel_->affine(a, scale, shift, out, count);
  }
  void add(const float* a, const float* b, float* out, std::int64_t count) override { kernel_->add(a, b, out, count); }
  void subtract(const float* a, const float* b, float* out, std::int64_t count) override {
    kernel_->subtract(a, b, out, count);
  }
  void multiply(const float* a, const float* b, float* out, std::int64_t count) override {
    kernel_->multiply(a, b, out, count);
  }
  void convert(const ConstTensorView& in, const TensorView& out) override {
    ++record.conversions;
    kernel_->convert(in, out);
  }

 private:
  std::unique_ptr<Elementwise> kernel_ = cpu_backend().elementwise();
};

Backend recording_backend() {
  record = {};
  Backend backend = cpu_backend();
  backend.elementwise = []() -> std::unique_ptr<Elementwise> { return std::make_unique<CountingElementwise>(); };
  backend.conv2d = [](const Conv2dSpec& spec) {
    record.convolutions.push_back(spec);
    return cpu_backend().conv2d(spec);
  };
  return backend;
}

// Runs `work` while the context's stream is held back for a moment.
template <class Work>
void with_late_stream(Context& context, Work work) {
  Gate gate;
  context.stream(cpu()).submit([&gate] { gate.wait(); });
  std::thread opener([&gate] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    gate.open();
  });
  work();
  opener.join();
  context.wait_all();
}

}  // namespace

TEST_CASE("the first layer makes no data gradient, and inference makes none at all") {
  const Backend backend = recording_backend();
  Context context(backend);
  const std::map<std::string, Shape> shapes{{"data", {2, 1, 28, 28}}, {"softmax_label", {2}}};
  const auto training = Executor::simple_bind(build_model("lenet", {}), context, cpu(), shapes);
  const auto inference = Executor::simple_bind(build_model("lenet", {}), context, cpu(), shapes, false);
  REQUIRE(record.convolutions.size() == 4);
  CHECK(record.convolutions[0].train);
  CHECK_FALSE(record.convolutions[0].data_gradient);
  CHECK(record.convolutions[1].data_gradient);
  CHECK_FALSE(record.convolutions[2].train);
  CHECK_FALSE(record.convolutions[3].train);
}

TEST_CASE("layouts are converted only between images and what is flat") {
  const Backend backend = recording_backend();
  Context context(backend);
  const auto lenet = Executor::simple_bind(build_model("lenet", {}), context, cpu(),
                                           {{"data", {2, 1, 28, 28}}, {"softmax_label", {2}}});
  lenet->forward(true);
  CHECK(record.conversions == 1);
  lenet->backward();
  CHECK(record.conversions == 2);
  // Three channels: the input is converted too. A global pool's output of one pixel is flat already.
  NameCounter names;
  const Symbol conv =
      Symbol::create(names, "Convolution", {Symbol::variable("data")}, {{"kernel", "(3, 3)"}, {"num_filter", "4"}});
  const Symbol pool = Symbol::create(names, "Pooling", {conv}, {{"global_pool", "True"}, {"pool_type", "avg"}});
  const Symbol net = Symbol::create(names, "MakeLoss", {Symbol::create(names, "Flatten", {pool})});
  const auto global = Executor::simple_bind(net, context, cpu(), {{"data", {2, 3, 6, 6}}});
  record.conversions = 0;
  global->forward(true);
  global->backward();
  CHECK(record.conversions == 1);
}

TEST_CASE("forward waits for work on its inputs, backward for work on its gradients") {
  Context context(cpu_backend());
  NameCounter names;
  const Symbol net = Symbol::create(names, "MakeLoss",
                                    {Symbol::create(names, "_mul_scalar", {Symbol::variable("x")}, {{"scalar", "2"}})});
  Executor executor(net, context, cpu(), bind_options(net, context, {{"x", {2}}}));
  NDArray x = executor.arguments().at("x");
  with_late_stream(context, [&] {
    x.fill(3);
    executor.forward(true);
  });
  CHECK(executor.outputs()[0].values() == Values{6, 6});
  NDArray gradient = executor.gradients().at("x");
  with_late_stream(context, [&] {
    gradient.fill(100);
    executor.backward();
  });
  CHECK(gradient.values() == Values{2, 2});
}

TEST_CASE("outputs that are still being copied are not overwritten") {
  Context context(cpu_backend());
  NameCounter names;
  const Symbol net = Symbol::create(names, "_plus_scalar", {Symbol::variable("x")}, {{"scalar", "1"}});
  Executor executor(net, context, cpu(), bind_options(net, context, {{"x", {2}}}));
  executor.forward(false);
  set(executor, "x", {5, 5});
  context.wait_all();
  NDArray kept;
  with_late_stream(context, [&] {
    kept = executor.outputs()[0].copy();
    executor.forward(false);
  });
  CHECK(kept.values() == Values{1, 1});
  CHECK(executor.outputs()[0].values() == Values{6, 6});
}
