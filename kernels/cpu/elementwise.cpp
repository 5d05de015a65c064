#include <cstring>

#include "kernels/base/error.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/factories.hpp"
#include "kernels/cpu/parallel.hpp"

namespace cohort::cpu {

namespace {

COHORT_CLONES void fill_loop(float* out, std::int64_t count, float value) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = value;
}
COHORT_CLONES void affine_loop(const float* a, float scale, float shift, float* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = scale * a[i] + shift;
}
COHORT_CLONES void add_loop(const float* a, const float* b, float* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}
COHORT_CLONES void subtract_loop(const float* a, const float* b, float* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] - b[i];
}
COHORT_CLONES void multiply_loop(const float* a, const float* b, float* out, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] * b[i];
}

// out (columns, rows) = in (rows, columns) transposed, in squares that stay in the first-level cache.
COHORT_CLONES void transpose_loop(const float* in, float* out, std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t tile = 16;
  for (std::int64_t row = 0; row < rows; row += tile)
    for (std::int64_t column = 0; column < columns; column += tile) {
      const std::int64_t row_end = row + tile < rows ? row + tile : rows;
      const std::int64_t column_end = column + tile < columns ? column + tile : columns;
      for (std::int64_t c = column; c < column_end; ++c)
        for (std::int64_t r = row; r < row_end; ++r) out[c * rows + r] = in[r * columns + c];
    }
}

template <class Body>
void over_elements(std::int64_t count, const Body& body) {
  parallel_ranges(count, element_grain, 16, body);
}

class LoopElementwise final : public Elementwise {
 public:
  void fill(float* out, std::int64_t count, float value) override {
    over_elements(count, [&](std::int64_t begin, std::int64_t end) { fill_loop(out + begin, end - begin, value); });
  }
  void affine(const float* a, float scale, float shift, float* out, std::int64_t count) override {
    over_elements(count, [&](std::int64_t begin, std::int64_t end) {
      affine_loop(a + begin, scale, shift, out + begin, end - begin);
    });
  }
  void add(const float* a, const float* b, float* out, std::int64_t count) override {
    over_elements(
        count, [&](std::int64_t begin, std::int64_t end) { add_loop(a + begin, b + begin, out + begin, end - begin); });
  }
  void subtract(const float* a, const float* b, float* out, std::int64_t count) override {
    over_elements(count, [&](std::int64_t begin, std::int64_t end) {
      subtract_loop(a + begin, b + begin, out + begin, end - begin);
    });
  }
  void multiply(const float* a, const float* b, float* out, std::int64_t count) override {
    over_elements(count, [&](std::int64_t begin, std::int64_t end) {
      multiply_loop(a + begin, b + begin, out + begin, end - begin);
    });
  }
  void convert(const ConstTensorView& in, const TensorView& out) override;
};

void LoopElementwise::convert(const ConstTensorView& in, const TensorView& out) {
  COHORT_CHECK(in.shape == out.shape, "convert: shapes {} and {} differ", to_string(in.shape), to_string(out.shape));
  COHORT_CHECK(in.dtype == DType::f32 && out.dtype == DType::f32, "convert: float32 only, not {} to {}",
               to_string(in.dtype), to_string(out.dtype));
  const auto* from = static_cast<const float*>(in.data);
  auto* to = static_cast<float*>(out.data);
  const bool spatial = in.shape.rank() == 4;
  COHORT_CHECK(spatial || in.layout == out.layout, "convert: {} is no image batch", to_string(in.shape));
  const std::int64_t batch = spatial ? in.shape[0] : 0;
  const std::int64_t channels = spatial ? in.shape[1] : 0;
  const std::int64_t pixels = spatial ? in.shape[2] * in.shape[3] : 0;
  if (in.layout == out.layout || channels == 1 || pixels == 1) {
    over_elements(in.shape.count(), [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(float));
    });
    return;
  }
  const std::int64_t image = channels * pixels;
  const std::int64_t rows = in.layout == Layout::row_major ? channels : pixels;
  parallel_ranges(batch, element_grain / image + 1, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) transpose_loop(from + n * image, to + n * image, rows, image / rows);
  });
}

}  // namespace

std::unique_ptr<Elementwise> make_elementwise() { return std::make_unique<LoopElementwise>(); }

}  // namespace cohort::cpu
