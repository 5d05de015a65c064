// Own loops, vectorised over channels: every window reads its cells in row-major order, so the first maximum wins.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/base/error.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/factories.hpp"
#include "kernels/cpu/parallel.hpp"

namespace cohort::cpu {

namespace {

// The part of one window that lies inside the image, and what its average is divided by.
struct Window {
  std::int64_t top, bottom, left, right;   // input rows [top, bottom) and columns [left, right)
  std::int64_t row_origin, column_origin;  // of the whole window; may be negative
  float divisor;
};

// The order of a maximum: larger wins, NaN wins over everything. Bitwise or, so that loops vectorise.
inline bool beats(float value, float best) {
  return static_cast<bool>(static_cast<int>(value > best) | static_cast<int>(value != value));
}

// `value` where `position` is the wanted one, else 0; both are at least 0. Arithmetic instead of a choice, since
// compilers turn choices among a few known positions into branches and then cannot vectorise.
inline float value_at(float value, std::int32_t position, std::int32_t wanted) {
  const std::int32_t mask = ((position ^ wanted) - 1) >> 31;  // all ones where equal
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(value) & mask);
}

COHORT_CLONES void first_cell(const float* cell, std::int32_t position, float* best, std::int32_t* positions,
                              std::int64_t channels) {
  for (std::int64_t c = 0; c < channels; ++c) {
    best[c] = cell[c];
    positions[c] = position;
  }
}

COHORT_CLONES void next_cell(const float* cell, std::int32_t position, float* best, std::int32_t* positions,
                             std::int64_t channels) {
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) {
    const bool wins = beats(cell[c], best[c]);
    best[c] = wins ? cell[c] : best[c];
    positions[c] = wins ? position : positions[c];
  }
}

COHORT_CLONES void next_cell_untracked(const float* cell, float* best, std::int64_t channels) {
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) best[c] = beats(cell[c], best[c]) ? cell[c] : best[c];
}

COHORT_CLONES void give_to_cell(const float* out_grad, const std::int32_t* positions, std::int32_t position,
                                float* cell, std::int64_t channels) {
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) cell[c] += value_at(out_grad[c], positions[c], position);
}

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

// Channels are taken in blocks of this many. The last block of a count that is no multiple of it overlaps the one
// before: writing the same values twice costs less than a loop over the rest.
constexpr std::int64_t block = 16;

// Four cells of a 2x2 window for channels [0, count), inside the image; a row of pixels is `channels` floats a pixel.
inline void max_2x2_channels(const float* a, const float* b, std::int64_t channels, float* best,
                             std::int32_t* positions, std::int64_t count) {
#pragma omp simd
  for (std::int64_t c = 0; c < count; ++c) {
    const bool second = beats(a[channels + c], a[c]);
    const float of_two = second ? a[channels + c] : a[c];
    const std::int32_t of_two_at = second ? 1 : 0;
    const bool third = beats(b[c], of_two);
    const float of_three = third ? b[c] : of_two;
    const std::int32_t of_three_at = third ? 2 : of_two_at;
    const bool fourth = beats(b[channels + c], of_three);
    best[c] = fourth ? b[channels + c] : of_three;
    positions[c] = fourth ? 3 : of_three_at;
  }
}

inline void max_2x2_channels_grad(const float* out_grad, const std::int32_t* positions, std::int64_t channels, float* a,
                                  float* b, std::int64_t count) {
#pragma omp simd
  for (std::int64_t c = 0; c < count; ++c) {
    a[c] = value_at(out_grad[c], positions[c], 0);
    a[channels + c] = value_at(out_grad[c], positions[c], 1);
    b[c] = value_at(out_grad[c], positions[c], 2);
    b[channels + c] = value_at(out_grad[c], positions[c], 3);
  }
}

// One output row of the 2x2 window at stride 2, all of it inside the image.
COHORT_CLONES void max_2x2_row(const float* upper, const float* lower, float* out, std::int32_t* positions,
                               std::int64_t width, std::int64_t channels) {
  for (std::int64_t column = 0; column < width; ++column) {
    const float* a = upper + 2 * column * channels;
    const float* b = lower + 2 * column * channels;
    float* best = out + column * channels;
    std::int32_t* at = positions + column * channels;
    if (channels < block) {
      max_2x2_channels(a, b, channels, best, at, channels);
      continue;
    }
    for (std::int64_t c = 0; c < channels; c += block) {
      const std::int64_t first = std::min(c, channels - block);
      max_2x2_channels(a + first, b + first, channels, best + first, at + first, block);
    }
  }
}

COHORT_CLONES void max_2x2_row_grad(const float* out_grad, const std::int32_t* positions, float* upper, float* lower,
                                    std::int64_t width, std::int64_t channels) {
  for (std::int64_t column = 0; column < width; ++column) {
    float* a = upper + 2 * column * channels;
    float* b = lower + 2 * column * channels;
    const float* grad = out_grad + column * channels;
    const std::int32_t* at = positions + column * channels;
    if (channels < block) {
      max_2x2_channels_grad(grad, at, channels, a, b, channels);
      continue;
    }
    for (std::int64_t c = 0; c < channels; c += block) {
      const std::int64_t first = std::min(c, channels - block);
      max_2x2_channels_grad(grad + first, at + first, channels, a + first, b + first, block);
    }
  }
}

// What all kinds share: the walk over images, windows and cells.
class LoopPool2d : public Pool2d {
 public:
  explicit LoopPool2d(const Pool2dSpec& spec) : spec_(spec) {
    COHORT_CHECK(spec.batch > 0 && spec.channels > 0 && spec.height > 0 && spec.width > 0 && spec.out_height > 0 &&
                     spec.out_width > 0,
                 "pool2d: batch {}, channels {}, input {}x{}, output {}x{}", spec.batch, spec.channels, spec.height,
                 spec.width, spec.out_height, spec.out_width);
    for (std::size_t axis = 0; axis < 2; ++axis)
      COHORT_CHECK(spec.kernel[axis] > 0 && spec.stride[axis] > 0 && spec.pad[axis] >= 0,
                   "pool2d: kernel {}, stride {}, pad {}", spec.kernel[axis], spec.stride[axis], spec.pad[axis]);
  }

 protected:
  std::int64_t image_size() const { return spec_.height * spec_.width * spec_.channels; }
  std::int64_t out_image_size() const { return spec_.out_height * spec_.out_width * spec_.channels; }

  Window window(std::int64_t row, std::int64_t column) const {
    const std::int64_t height = spec_.height, width = spec_.width;
    Window w{};
    w.row_origin = row * spec_.stride[0] - spec_.pad[0];
    w.column_origin = column * spec_.stride[1] - spec_.pad[1];
    w.top = std::max<std::int64_t>(w.row_origin, 0);
    w.left = std::max<std::int64_t>(w.column_origin, 0);
    w.bottom = std::max(w.top, std::min(w.row_origin + spec_.kernel[0], height));
    w.right = std::max(w.left, std::min(w.column_origin + spec_.kernel[1], width));
    const std::int64_t real = (w.bottom - w.top) * (w.right - w.left);
    const auto padded_extent = [&](std::int64_t origin, std::int64_t size, std::size_t axis) {
      return std::max<std::int64_t>(std::min(origin + spec_.kernel[axis], size + spec_.pad[axis]) - origin, 0);
    };
    const std::int64_t padded = padded_extent(w.row_origin, height, 0) * padded_extent(w.column_origin, width, 1);
    if (spec_.kind == PoolKind::avg)
      w.divisor = static_cast<float>(std::max<std::int64_t>(spec_.count_include_pad ? padded : real, 1));
    else
      w.divisor = 1;
    return w;
  }

  // body(cell offset within the image, position within the window) for every cell of `w` in row-major order.
  template <class Body>
  void over_cells(const Window& w, const Body& body) const {
    for (std::int64_t row = w.top; row < w.bottom; ++row)
      for (std::int64_t column = w.left; column < w.right; ++column)
        body((row * spec_.width + column) * spec_.channels,
             static_cast<std::int32_t>((row - w.row_origin) * spec_.kernel[1] + column - w.column_origin));
  }

  // body(image, window, output offset within all images) for every window of every image; one image per thread at a
  // time, since windows may overlap.
  template <class Body>
  void over_windows(const Body& body) const {
    over_images([&](std::int64_t image) {
      for (std::int64_t row = 0; row < spec_.out_height; ++row)
        for (std::int64_t column = 0; column < spec_.out_width; ++column)
          body(image, window(row, column),
               image * out_image_size() + (row * spec_.out_width + column) * spec_.channels);
    });
  }

  template <class Body>
  void over_images(const Body& body) const {
    parallel_ranges(spec_.batch, element_grain / image_size() + 1, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t image = begin; image < end; ++image) body(image);
    });
  }

  Pool2dSpec spec_;
};

class MaxPool2d : public LoopPool2d {
 public:
  using LoopPool2d::LoopPool2d;

  std::size_t workspace_bytes() const override {
    return static_cast<std::size_t>(spec_.batch * out_image_size()) * sizeof(std::int32_t);
  }

  void forward(const float* data, float* out, void* workspace) override {
    over_windows([&](std::int64_t image, const Window& w, std::int64_t at) {
      pool_window(w, data + image * image_size(), out + at,
                  workspace != nullptr ? static_cast<std::int32_t*>(workspace) + at : nullptr);
    });
  }

  void backward(const float* out_grad, const void* workspace, float* data_grad) override {
    over_images([&](std::int64_t image) {
      std::memset(data_grad + image * image_size(), 0, static_cast<std::size_t>(image_size()) * sizeof(float));
    });
    over_windows([&](std::int64_t image, const Window& w, std::int64_t at) {
      const auto* positions = static_cast<const std::int32_t*>(workspace) + at;
      over_cells(w, [&](std::int64_t cell, std::int32_t position) {
        give_to_cell(out_grad + at, positions, position, data_grad + image * image_size() + cell, spec_.channels);
      });
    });
  }

 private:
  void pool_window(const Window& w, const float* image, float* out, std::int32_t* positions) const {
    bool first = true;
    over_cells(w, [&](std::int64_t cell, std::int32_t position) {
      if (positions == nullptr && !first)
        next_cell_untracked(image + cell, out, spec_.channels);
      else if (positions == nullptr)
        std::memcpy(out, image + cell, static_cast<std::size_t>(spec_.channels) * sizeof(float));
      else if (first)
        first_cell(image + cell, position, out, positions, spec_.channels);
      else
        next_cell(image + cell, position, out, positions, spec_.channels);
      first = false;
    });
    if (!first) return;
    // A window wholly outside the image ("full" rounding): nothing wins and nothing gets its gradient.
    std::fill_n(out, spec_.channels, -std::numeric_limits<float>::infinity());
    if (positions != nullptr) std::fill_n(positions, spec_.channels, -1);
  }
};

// Windows of 2x2 at stride 2 without padding, all inside the image: most of what convolutional networks use.
class MaxPool2x2 final : public MaxPool2d {
 public:
  static bool fits(const Pool2dSpec& spec) {
    const std::array<std::int64_t, 2> two{2, 2};
    return spec.kernel == two && spec.stride == two && spec.pad == std::array<std::int64_t, 2>{0, 0} &&
           2 * spec.out_height <= spec.height && 2 * spec.out_width <= spec.width;
  }

  using MaxPool2d::MaxPool2d;

  void forward(const float* data, float* out, void* workspace) override {
    if (workspace == nullptr) {
      MaxPool2d::forward(data, out, nullptr);
      return;
    }
    over_rows([&](std::int64_t in, std::int64_t at) {
      max_2x2_row(data + in, data + in + row_size(), out + at, static_cast<std::int32_t*>(workspace) + at,
                  spec_.out_width, spec_.channels);
    });
  }

  void backward(const float* out_grad, const void* workspace, float* data_grad) override {
    over_rows([&](std::int64_t in, std::int64_t at) {
      max_2x2_row_grad(out_grad + at, static_cast<const std::int32_t*>(workspace) + at, data_grad + in,
                       data_grad + in + row_size(), spec_.out_width, spec_.channels);
    });
    clear_uncovered(data_grad);
  }

 private:
  std::int64_t row_size() const { return spec_.width * spec_.channels; }

  // body(offset of the upper input row, offset of the output row) within all images.
  template <class Body>
  void over_rows(const Body& body) const {
    parallel_ranges(spec_.batch * spec_.out_height, element_grain / (2 * row_size()) + 1, 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t row = begin; row < end; ++row) {
                        const std::int64_t image = row / spec_.out_height;
                        body(image * image_size() + 2 * (row % spec_.out_height) * row_size(),
                             row * spec_.out_width * spec_.channels);
                      }
                    });
  }

  // The last row and column of odd images belong to no window.
  void clear_uncovered(float* data_grad) const {
    const std::int64_t covered_row = 2 * spec_.out_width * spec_.channels;
    const std::int64_t covered_image = 2 * spec_.out_height * row_size();
    for (std::int64_t image = 0; image < spec_.batch; ++image) {
      float* grad = data_grad + image * image_size();
      if (covered_row < row_size())
        for (std::int64_t row = 0; row < 2 * spec_.out_height; ++row)
          std::fill(grad + row * row_size() + covered_row, grad + (row + 1) * row_size(), 0.0f);
      std::fill(grad + covered_image, grad + image_size(), 0.0f);
    }
  }
};

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
  if (spec.kind != PoolKind::max) return std::make_unique<SumPool2d>(spec);
  if (MaxPool2x2::fits(spec)) return std::make_unique<MaxPool2x2>(spec);
  return std::make_unique<MaxPool2d>(spec);
}

}  // namespace cohort::cpu
