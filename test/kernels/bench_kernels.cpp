// Times the kernels of one training step of LeNet and of the MLP: the least of many runs, in microseconds. One thread
// is timed in processor time, which other programs on the machine disturb less; several threads in elapsed time.
// Run with: OMP_NUM_THREADS=1 bench_kernels [batch]
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
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

namespace {

using cohort::test::reals;
using Clock = std::chrono::steady_clock;

double now_us() {
  timespec time{};
  clock_gettime(cohort::compute_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

// A network as a list of timed passes; every array lives as long as the list, and a pass reads what others wrote, so
// that caches are as warm as in training.
class Step {
 public:
  float* array(std::int64_t count) {
    arrays_.push_back(reals(count, static_cast<std::uint32_t>(arrays_.size()), 0.1f));
    return arrays_.back().data();
  }
  void forward(std::string name, std::function<void()> pass) {
    forward_.emplace_back(std::move(name), std::move(pass));
  }
  void backward(std::string name, std::function<void()> pass) {
    backward_.emplace_back(std::move(name), std::move(pass));
  }
  std::uint64_t version() const { return version_; }

  void measure(const std::string& title) {
    auto passes = forward_;
    passes.insert(passes.end(), backward_.rbegin(), backward_.rend());
    std::vector<double> least(passes.size(), 1e9);
    double least_step = 1e9;
    const auto end = Clock::now() + std::chrono::seconds(4);
    while (Clock::now() < end) {
      ++version_;
      double step = 0;
      for (std::size_t i = 0; i < passes.size(); ++i) {
        const double start = now_us();
        passes[i].second();
        const double us = now_us() - start;
        least[i] = std::min(least[i], us);
        step += us;
      }
      least_step = std::min(least_step, step);
    }
    fmt::print("{}\n", title);
    double sum = 0;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      fmt::print("  {:<24}{:>10.1f}\n", passes[i].first, least[i]);
      sum += least[i];
    }
    fmt::print("  {:<24}{:>10.1f}\n  {:<24}{:>10.1f}\n", "sum of the least", sum, "least step", least_step);
  }

 private:
  std::vector<std::vector<float>> arrays_;
  std::vector<std::pair<std::string, std::function<void()>>> forward_, backward_;
  std::uint64_t version_ = 0;
};

struct Tensor {
  float* value;
  float* grad;
  std::int64_t count;
};

Tensor tensor(Step& step, std::int64_t count) { return {step.array(count), step.array(count), count}; }

Tensor add_conv(Step& step, const std::string& name, const Tensor& in, const cohort::Conv2dSpec& spec) {
  const auto [height, width] = spec.output_size();
  const Tensor out = tensor(step, spec.batch * spec.filters * height * width);
  const Tensor weight = tensor(step, spec.filters * spec.channels * spec.kernel[0] * spec.kernel[1]);
  const Tensor bias = tensor(step, spec.filters);
  std::shared_ptr<cohort::Conv2d> conv = cohort::cpu_backend().conv2d(spec);
  step.forward(name, [=, &step] { conv->forward(in.value, {weight.value, step.version()}, bias.value, out.value); });
  if (spec.data_gradient)
    step.backward(name + " dX", [=, &step] { conv->backward_data(out.grad, {weight.value, step.version()}, in.grad); });
  step.backward(name + " dW", [=] { conv->backward_weights(in.value, out.grad, weight.grad, bias.grad); });
  return out;
}

Tensor add_dense(Step& step, const std::string& name, const Tensor& in, const cohort::DenseSpec& spec, bool first) {
  const Tensor out = tensor(step, spec.batch * spec.outputs);
  const Tensor weight = tensor(step, spec.inputs * spec.outputs);
  const Tensor bias = tensor(step, spec.outputs);
  std::shared_ptr<cohort::Dense> dense = cohort::cpu_backend().dense(spec);
  step.forward(name, [=, &step] { dense->forward(in.value, {weight.value, step.version()}, bias.value, out.value); });
  if (!first)
    step.backward(name + " dX", [=, &step] {
      dense->backward_data(out.grad, {weight.value, step.version()}, in.grad);
    });
  step.backward(name + " dW", [=] { dense->backward_weights(in.value, out.grad, weight.grad, bias.grad); });
  return out;
}

Tensor add_activation(Step& step, const std::string& name, const Tensor& in, cohort::ActivationKind kind) {
  const Tensor out = tensor(step, in.count);
  std::shared_ptr<cohort::Activation> activation = cohort::cpu_backend().activation({kind, in.count});
  step.forward(name, [=] { activation->forward(in.value, out.value); });
  step.backward(name + " grad", [=] { activation->backward(out.value, out.grad, in.grad); });
  return out;
}

Tensor add_pool(Step& step, const std::string& name, const Tensor& in, std::int64_t batch, std::int64_t channels,
                std::int64_t size) {
  const cohort::Pool2dSpec spec{.batch = batch,
                                .channels = channels,
                                .height = size,
                                .width = size,
                                .out_height = size / 2,
                                .out_width = size / 2,
                                .kernel = {2, 2},
                                .stride = {2, 2}};
  const Tensor out = tensor(step, batch * channels * (size / 2) * (size / 2));
  std::shared_ptr<cohort::Pool2d> pool = cohort::cpu_backend().pool2d(spec);
  float* workspace = step.array(static_cast<std::int64_t>(pool->workspace_bytes() / sizeof(float)) + 1);
  step.forward(name, [=] { pool->forward(in.value, out.value, workspace); });
  step.backward(name + " grad", [=] { pool->backward(out.grad, workspace, in.grad); });
  return out;
}

Tensor add_flatten(Step& step, const Tensor& in, std::int64_t batch, std::int64_t channels, std::int64_t size) {
  using cohort::Layout;
  const Tensor out = tensor(step, in.count);
  const cohort::Shape shape{batch, channels, size, size};
  std::shared_ptr<cohort::Elementwise> ops = cohort::cpu_backend().elementwise();
  step.forward("flatten", [=] {
    ops->convert({in.value, shape, cohort::DType::f32, Layout::channels_last},
                 {out.value, shape, cohort::DType::f32, Layout::row_major});
  });
  step.backward("flatten grad", [=] {
    ops->convert({out.grad, shape, cohort::DType::f32, Layout::row_major},
                 {in.grad, shape, cohort::DType::f32, Layout::channels_last});
  });
  return out;
}

void add_loss(Step& step, const Tensor& in, std::int64_t batch) {
  const Tensor out = tensor(step, in.count);
  float* label = step.array(batch);
  for (std::int64_t i = 0; i < batch; ++i) label[i] = static_cast<float>(i % 10);
  std::shared_ptr<cohort::SoftmaxOutput> loss =
      cohort::cpu_backend().softmax_output({.outer = batch, .classes = in.count / batch, .label_count = batch});
  step.forward("softmax", [=] { loss->forward(in.value, out.value); });
  step.backward("softmax grad", [=] { loss->backward(out.value, label, nullptr, in.grad); });
}

void bench_lenet(std::int64_t batch) {
  Step step;
  Tensor x = tensor(step, batch * 28 * 28);
  x = add_conv(step, "conv1", x,
               {.batch = batch,
                .channels = 1,
                .height = 28,
                .width = 28,
                .filters = 20,
                .kernel = {5, 5},
                .data_gradient = false});
  x = add_activation(step, "tanh1", x, cohort::ActivationKind::tanh);
  x = add_pool(step, "pool1", x, batch, 20, 24);
  x = add_conv(step, "conv2", x,
               {.batch = batch, .channels = 20, .height = 12, .width = 12, .filters = 50, .kernel = {5, 5}});
  x = add_activation(step, "tanh2", x, cohort::ActivationKind::tanh);
  x = add_pool(step, "pool2", x, batch, 50, 8);
  x = add_flatten(step, x, batch, 50, 4);
  x = add_dense(step, "fc1", x, {.batch = batch, .inputs = 800, .outputs = 500}, false);
  x = add_activation(step, "tanh3", x, cohort::ActivationKind::tanh);
  x = add_dense(step, "fc2", x, {.batch = batch, .inputs = 500, .outputs = 10}, false);
  add_loss(step, x, batch);
  step.measure("lenet");
}

void bench_mlp(std::int64_t batch) {
  Step step;
  Tensor x = tensor(step, batch * 784);
  x = add_dense(step, "fc1", x, {.batch = batch, .inputs = 784, .outputs = 128}, true);
  x = add_activation(step, "relu1", x, cohort::ActivationKind::relu);
  x = add_dense(step, "fc2", x, {.batch = batch, .inputs = 128, .outputs = 64}, false);
  x = add_activation(step, "relu2", x, cohort::ActivationKind::relu);
  x = add_dense(step, "fc3", x, {.batch = batch, .inputs = 64, .outputs = 10}, false);
  add_loss(step, x, batch);
  step.measure("mlp");
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t batch = argc > 1 ? std::atoll(argv[1]) : 64;
  cohort::flush_denormals();
  bench_lenet(batch);
  bench_mlp(batch);
}
