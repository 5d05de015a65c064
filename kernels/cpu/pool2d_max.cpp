// Max pooling in own loops, vectorised over channels: the first maximum of a window wins.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/pool2d_windows.hpp"

namespace cohort::cpu {

namespace {

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

}  // namespace

std::unique_ptr<Pool2d> make_max_pool2d(const Pool2dSpec& spec) {
  if (MaxPool2x2::fits(spec)) return std::make_unique<MaxPool2x2>(spec);
  return std::make_unique<MaxPool2d>(spec);
}

}  // namespace cohort::cpu
