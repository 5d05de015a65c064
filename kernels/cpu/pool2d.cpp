// Sum and average pooling in own loops, vectorised over channels, and the choice among the kinds.
#include <algorithm>
#include <cstring>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/factories.hpp"
#include "kernels/cpu/pool2d_windows.hpp"

namespace cohort::cpu {

namespace {

COHORT_CLONES void add_cell(const float* cell, float* sum, std::int64_t channels) {
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) sum[c] += cell[c];
}

COHORT_CLONES void divide_all(float* sum, float divisor, std::int64_t channels) {
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) sum[c] /= divisor;
}

COHORT_CLONES void add_share(const float* out_grad, float divisor, float* cell, std::int64_t channels) {
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) cell[c] += out_grad[c] / divisor;
}

// avg and sum.
class SumPool2d final : public LoopPool2d {
 public:
  using LoopPool2d::LoopPool2d;

  std::size_t workspace_bytes() const override { return 0; }

  void forward(const float* data, float* out, void*) override {
    over_windows([&](std::int64_t image, const Window& w, std::int64_t at) {
      std::fill_n(out + at, spec_.channels, 0.0f);
      over_cells(w, [&](std::int64_t cell, std::int32_t) {
        add_cell(data + image * image_size() + cell, out + at, spec_.channels);
      });
      divide_all(out + at, w.divisor, spec_.channels);
    });
  }

  void backward(const float* out_grad, const void*, float* data_grad) override {
    over_images([&](std::int64_t image) {
      std::memset(data_grad + image * image_size(), 0, static_cast<std::size_t>(image_size()) * sizeof(float));
    });
    over_windows([&](std::int64_t image, const Window& w, std::int64_t at) {
      over_cells(w, [&](std::int64_t cell, std::int32_t) {
        add_share(out_grad + at, w.divisor, data_grad + image * image_size() + cell, spec_.channels);
      });
    });
  }
};

}  // namespace

std::unique_ptr<Pool2d> make_pool2d(const Pool2dSpec& spec) {
  if (spec.kind == PoolKind::max) return make_max_pool2d(spec);
  return std::make_unique<SumPool2d>(spec);
}

}  // namespace cohort::cpu
