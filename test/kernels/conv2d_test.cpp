// Convolution against a plain loop in double precision, over shapes that meet every parameter.
#include <cmath>
#include <vector>

#include "kernels/base/backend.hpp"
#include "kernels/base/error.hpp"
#include "kernels/conv2d.hpp"
#include "test/kernels/reference.hpp"
#include "test/support/catch.hpp"
#include "test/support/compute_threads.hpp"

namespace {

using cohort::Conv2dSpec;
using cohort::test::difference;
using cohort::test::integers;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

struct Sizes {
  explicit Sizes(const Conv2dSpec& s)
      : data(s.batch * s.channels * s.height * s.width),
        weight(s.filters * (s.channels / s.groups) * s.kernel[0] * s.kernel[1]),
        out(s.batch * s.filters * s.output_size()[0] * s.output_size()[1]) {}
  std::int64_t data, weight, out;
};

// visit(data index, weight index, output index) for every product of the convolution.
template <class Visit>
void over_products(const Conv2dSpec& s, const Visit& visit) {
  const auto [oh, ow] = s.output_size();
  const std::int64_t group_channels = s.channels / s.groups;
  const std::int64_t group_filters = s.filters / s.groups;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t y = 0; y < oh; ++y)
      for (std::int64_t x = 0; x < ow; ++x)
        for (std::int64_t f = 0; f < s.filters; ++f)
          for (std::int64_t ky = 0; ky < s.kernel[0]; ++ky)
            for (std::int64_t kx = 0; kx < s.kernel[1]; ++kx) {
              const std::int64_t iy = y * s.stride[0] - s.pad[0] + ky * s.dilate[0];
              const std::int64_t ix = x * s.stride[1] - s.pad[1] + kx * s.dilate[1];
              if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
              for (std::int64_t c = 0; c < group_channels; ++c)
                visit(((n * s.height + iy) * s.width + ix) * s.channels + f / group_filters * group_channels + c,
                      ((f * group_channels + c) * s.kernel[0] + ky) * s.kernel[1] + kx,
                      ((n * oh + y) * ow + x) * s.filters + f);
            }
}

// Small integers: every sum is exact in float32, in any order.
void check_convolution(const Conv2dSpec& spec) {
  INFO("batch " << spec.batch << " channels " << spec.channels << " size " << spec.height << "x" << spec.width
                << " filters " << spec.filters << " kernel " << spec.kernel[0] << "x" << spec.kernel[1] << " stride "
                << spec.stride[0] << " dilate " << spec.dilate[0] << " pad " << spec.pad[0] << " groups " << spec.groups
                << " bias " << spec.bias);
  const Sizes sizes(spec);
  const Floats data = integers(sizes.data, 1), weight = integers(sizes.weight, 2), bias = integers(spec.filters, 3);
  const Floats out_grad = integers(sizes.out, 4);
  Floats out(sizes.out), data_grad(sizes.data, NAN), weight_grad(sizes.weight, NAN), bias_grad(spec.filters, NAN);

  Floats want_out(sizes.out), want_data(sizes.data), want_weight(sizes.weight), want_bias(spec.filters);
  for (std::int64_t i = 0; i < sizes.out; ++i) {
    if (spec.bias) want_out[i] = bias[i % spec.filters];
    want_bias[i % spec.filters] += out_grad[i];
  }
  over_products(spec, [&](std::int64_t d, std::int64_t w, std::int64_t o) {
    want_out[o] += data[d] * weight[w];
    want_data[d] += out_grad[o] * weight[w];
    want_weight[w] += out_grad[o] * data[d];
  });

  const auto conv = cohort::cpu_backend().conv2d(spec);
  conv->forward(data.data(), {weight.data(), 1}, bias.data(), out.data());
  CHECK(difference(out, want_out).empty());
  conv->backward_weights(data.data(), out_grad.data(), weight_grad.data(), bias_grad.data());
  CHECK(difference(weight_grad, want_weight).empty());
  if (spec.bias) CHECK(difference(bias_grad, want_bias).empty());
  if (!spec.data_gradient) return;
  conv->backward_data(out_grad.data(), {weight.data(), 1}, data_grad.data());
  CHECK(difference(data_grad, want_data).empty());
}

}  // namespace

TEST_CASE("convolution, values and gradients equal a plain loop") {
  for (const std::int64_t batch : {1, 3})
    for (const std::int64_t channels : {1, 3, 20})
      for (const std::int64_t filters : {1, 5, 50}) {
        Conv2dSpec spec{.batch = batch, .channels = channels, .height = 9, .width = 7, .filters = filters};
        check_convolution(spec);
        spec.kernel = {3, 3};
        check_convolution(spec);
        spec.stride = {2, 1};
        spec.dilate = {1, 2};
        check_convolution(spec);
        spec.dilate = {1, 1};
        spec.pad = {1, 1};
        check_convolution(spec);
        spec.stride = {2, 2};
        check_convolution(spec);
        spec.bias = false;
        spec.kernel = {5, 3};
        spec.pad = {2, 0};
        spec.stride = {1, 2};
        check_convolution(spec);
        spec.dilate = {2, 3};
        check_convolution(spec);
      }
}

TEST_CASE("convolution, groups split channels and filters") {
  for (const bool bias : {false, true}) {
    Conv2dSpec spec{.batch = 3, .channels = 6, .height = 8, .width = 5, .filters = 9, .kernel = {3, 3}, .pad = {1, 1}};
    spec.bias = bias;
    spec.groups = 3;
    check_convolution(spec);
    spec.filters = 6;
    spec.groups = 6;
    check_convolution(spec);
    spec.channels = spec.filters = spec.groups = 32;
    spec.stride = {2, 2};
    check_convolution(spec);
  }
}

TEST_CASE("convolution, the shapes of LeNet") {
  const cohort::test::ComputeThreads threads(GENERATE(1, 3));
  for (const std::int64_t batch : {1, 5, 64}) {
    check_convolution({.batch = batch,
                       .channels = 1,
                       .height = 28,
                       .width = 28,
                       .filters = 20,
                       .kernel = {5, 5},
                       .data_gradient = false});
    check_convolution({.batch = batch, .channels = 20, .height = 12, .width = 12, .filters = 50, .kernel = {5, 5}});
  }
}

TEST_CASE("convolution, packed weights follow the version and the address") {
  // With 20 channels the data gradient goes through columns; with 32, every pass is a primitive with a format of its
  // own.
  const std::int64_t channels = GENERATE(20, 32);
  const Conv2dSpec spec{.batch = 1, .channels = channels, .height = 4, .width = 4, .filters = 32, .kernel = {3, 3}};
  const Sizes sizes(spec);
  const Floats data = integers(sizes.data, 1), bias(32, 0.0f), out_grad = integers(sizes.out, 2);
  Floats weight = integers(sizes.weight, 3);
  Floats doubled = weight;
  for (float& value : doubled) value *= 2;
  const auto conv = cohort::cpu_backend().conv2d(spec);
  const auto run = [&](const float* values, std::uint64_t version) {
    std::pair<Floats, Floats> result{Floats(sizes.out), Floats(sizes.data)};
    conv->forward(data.data(), {values, version}, bias.data(), result.first.data());
    conv->backward_data(out_grad.data(), {values, version}, result.second.data());
    return result;
  };
  const auto before = run(weight.data(), 1);
  const auto other_address = run(doubled.data(), 1);
  CHECK(other_address != before);
  CHECK(run(weight.data(), 1) == before);
  weight = doubled;
  CHECK(run(weight.data(), 2) == other_address);
}

TEST_CASE("convolution, what the spec left out is refused") {
  Conv2dSpec spec{.batch = 1, .channels = 1, .height = 5, .width = 5, .filters = 1, .kernel = {3, 3}};
  float dummy[25] = {};
  spec.data_gradient = false;
  CHECK_THROWS_AS(cohort::cpu_backend().conv2d(spec)->backward_data(dummy, {dummy, 1}, dummy), cohort::Error);
  spec.filters = 16;
  spec.kernel = {4, 4};
  CHECK_THROWS_AS(cohort::cpu_backend().conv2d(spec)->backward_data(dummy, {dummy, 1}, dummy), cohort::Error);
  spec.train = false;
  CHECK_THROWS_AS(cohort::cpu_backend().conv2d(spec)->backward_weights(dummy, dummy, dummy, dummy), cohort::Error);
  spec.kernel = {6, 3};
  CHECK_THROWS_AS(cohort::cpu_backend().conv2d(spec), cohort::Error);
  spec.kernel = {3, 3};
  spec.channels = 3;
  spec.groups = 2;
  CHECK_THROWS_AS(cohort::cpu_backend().conv2d(spec), cohort::Error);
}
