#include "kernels/cpu/columns.hpp"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/clones.hpp"

namespace cohort::cpu {

namespace {

// Copies go in whole blocks of this many floats: constant sizes become single instructions.
constexpr std::int64_t narrow_block = 8;
constexpr std::int64_t wide_block = 16;

// A field as runs of floats that are neighbours in the image.
struct Field {
  explicit Field(const Conv2dSpec& s)
      // Neighbouring kernel columns are one run unless dilation tears them apart.
      : run(s.dilate[1] == 1 ? s.kernel[1] * s.channels : s.channels),
        runs(s.dilate[1] == 1 ? 1 : s.kernel[1]),
        run_step(s.dilate[1] * s.channels),
        kernel_rows(s.kernel[0]),
        row_step(s.dilate[0] * s.width * s.channels),
        pixel_step(s.stride[1] * s.channels),
        last_run((kernel_rows - 1) * row_step + (runs - 1) * run_step) {}

  std::int64_t run, runs, run_step;    // floats of a run, runs of a kernel row, floats between their beginnings
  std::int64_t kernel_rows, row_step;  // floats between kernel rows in the image
  std::int64_t pixel_step;             // floats between the fields of neighbours
  std::int64_t last_run;               // floats from a field's beginning to that of its last run
};

// The fields of `pixels` neighbours, for runs of at most narrow_block floats.
COHORT_CLONES void gather_narrow(const Field& field, const float* from, float* to, std::int64_t pixels) {
  const std::int64_t runs = field.runs, kernel_rows = field.kernel_rows, count = field.run;
  const std::int64_t pixel_step = field.pixel_step, row_step = field.row_step, run_step = field.run_step;
  for (std::int64_t x = 0; x < pixels; ++x, from += pixel_step) {
    const float* row = from;
    for (std::int64_t ky = 0; ky < kernel_rows; ++ky, row += row_step)
      for (std::int64_t run = 0; run < runs; ++run, to += count)
        std::memcpy(to, row + run * run_step, narrow_block * sizeof(float));
  }
}

// The same for longer runs.
COHORT_CLONES void gather_wide(const Field& field, const float* from, float* to, std::int64_t pixels) {
  for (std::int64_t x = 0; x < pixels; ++x, from += field.pixel_step)
    for (std::int64_t ky = 0; ky < field.kernel_rows; ++ky)
      for (std::int64_t run = 0; run < field.runs; ++run, to += field.run) {
        const float* source = from + ky * field.row_step + run * field.run_step;
        for (std::int64_t i = 0; i < field.run; i += wide_block)
          std::memcpy(to + i, source + i, wide_block * sizeof(float));
      }
}

// The same without reading past any run.
void gather_exactly(const Field& field, const float* from, float* to, std::int64_t pixels) {
  for (std::int64_t x = 0; x < pixels; ++x, from += field.pixel_step)
    for (std::int64_t ky = 0; ky < field.kernel_rows; ++ky)
      for (std::int64_t run = 0; run < field.runs; ++run, to += field.run)
        std::copy_n(from + ky * field.row_step + run * field.run_step, field.run, to);
}

COHORT_CLONES void scatter_row(const Field& field, const float* from, float* to, std::int64_t pixels) {
  for (std::int64_t x = 0; x < pixels; ++x, to += field.pixel_step)
    for (std::int64_t ky = 0; ky < field.kernel_rows; ++ky)
      for (std::int64_t run = 0; run < field.runs; ++run, from += field.run) {
        float* __restrict sum = to + ky * field.row_step + run * field.run_step;
        for (std::int64_t i = 0; i < field.run; ++i) sum[i] += from[i];
      }
}

}  // namespace

std::int64_t column_count(const Conv2dSpec& spec) { return spec.kernel[0] * spec.kernel[1] * spec.channels; }

std::int64_t column_buffer_size(const Conv2dSpec& spec, std::int64_t rows) {
  return rows * column_count(spec) + wide_block;
}

void gather_columns(const Conv2dSpec& spec, const float* image, const float* data_end, float* columns) {
  const Field field(spec);
  const auto [height, width] = spec.output_size();
  const std::int64_t block = field.run <= narrow_block ? narrow_block : wide_block;
  const std::int64_t reach = (width - 1) * field.pixel_step + field.last_run + (field.run + block - 1) / block * block;
  for (std::int64_t y = 0; y < height; ++y) {
    const float* from = image + y * spec.stride[0] * spec.width * spec.channels;
    float* to = columns + y * width * column_count(spec);
    if (reach > data_end - from)
      gather_exactly(field, from, to, width);
    else if (block == narrow_block)
      gather_narrow(field, from, to, width);
    else
      gather_wide(field, from, to, width);
  }
}

void scatter_columns(const Conv2dSpec& spec, const float* columns, float* image) {
  const Field field(spec);
  const auto [height, width] = spec.output_size();
  std::fill_n(image, spec.height * spec.width * spec.channels, 0.0f);
  for (std::int64_t y = 0; y < height; ++y)
    scatter_row(field, columns + y * width * column_count(spec),
                image + y * spec.stride[0] * spec.width * spec.channels, width);
}

}  // namespace cohort::cpu
