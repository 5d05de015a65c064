// The walk over the windows of a pooling, shared by its kinds: every window reads its cells in row-major order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "kernels/base/error.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/pool2d.hpp"

namespace cohort::cpu {

// The part of one window that lies inside the image, and what its average is divided by.
struct Window {
  std::int64_t top, bottom, left, right;   // input rows [top, bottom) and columns [left, right)
  std::int64_t row_origin, column_origin;  // of the whole window; may be negative
  float divisor;
};

// What all kinds share: the walk over images, windows and cells, in parallel over images. The constructor throws Error
// where the spec makes no sense.
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

// Max pooling, in pool2d_max.cpp.
std::unique_ptr<Pool2d> make_max_pool2d(const Pool2dSpec& spec);

}  // namespace cohort::cpu
