// The choice between oneDNN's primitives and matrix products over columns.
#include "kernels/base/error.hpp"
#include "kernels/cpu/conv2d_columns.hpp"
#include "kernels/cpu/conv2d_primitive.hpp"
#include "kernels/cpu/factories.hpp"

namespace cohort::cpu {

namespace {

void check_spec(const Conv2dSpec& spec) {
  COHORT_CHECK(spec.batch > 0 && spec.channels > 0 && spec.height > 0 && spec.width > 0 && spec.filters > 0,
               "conv2d: batch {}, channels {}, input {}x{}, filters {}", spec.batch, spec.channels, spec.height,
               spec.width, spec.filters);
  COHORT_CHECK(spec.groups > 0 && spec.channels % spec.groups == 0 && spec.filters % spec.groups == 0,
               "conv2d: {} channels and {} filters are not multiples of {} groups", spec.channels, spec.filters,
               spec.groups);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    COHORT_CHECK(spec.kernel[axis] > 0 && spec.stride[axis] > 0 && spec.dilate[axis] > 0 && spec.pad[axis] >= 0,
                 "conv2d: kernel {}, stride {}, dilate {}, pad {}", spec.kernel[axis], spec.stride[axis],
                 spec.dilate[axis], spec.pad[axis]);
    COHORT_CHECK(spec.output_size()[axis] > 0, "conv2d: kernel {} does not fit the input", spec.kernel[axis]);
  }
}

// Whether the gradients are faster as matrix products over columns. Primitives compute with channels and filters
// padded to 16: LeNet's second convolution pays for twice its work. Columns cost copies, which few filters or short
// rows do not repay, and fields that reach into padding would cost more. A function of the shape alone, so that every
// rank and every run chooses alike.
bool columns_pay(const Conv2dSpec& spec) {
  if (spec.groups != 1 || spec.pad[0] > 0 || spec.pad[1] > 0) return false;
  if (spec.filters < 16 || spec.kernel[0] * spec.kernel[1] * spec.channels < 16) return false;
  const auto padded = [](std::int64_t count) { return (count + 15) / 16 * 16; };
  return padded(spec.channels) * padded(spec.filters) >= 2 * spec.channels * spec.filters;
}

}  // namespace

std::unique_ptr<Conv2d> make_conv2d(const Conv2dSpec& spec) {
  check_spec(spec);
  if (!spec.train || !columns_pay(spec)) return std::make_unique<PrimitiveConv2d>(spec);
  Conv2dSpec forward_only = spec;
  forward_only.train = false;
  return std::make_unique<ColumnConv2d>(spec, std::make_unique<PrimitiveConv2d>(forward_only));
}

}  // namespace cohort::cpu
