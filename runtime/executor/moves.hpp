// The executor's own steps, which no operator asks for: conversions, copies, sums of gradients, zeros.
#pragma once

#include <memory>

#include "kernels/elementwise.hpp"
#include "runtime/operators/operator.hpp"

namespace cohort {

// Forward: input 0 (as `from`) into output 0 (as `to`). Backward: the gradient the other way.
std::unique_ptr<OperatorKernel> make_convert(Elementwise& elementwise, const Shape& shape, Layout from, Layout to);
// Forward: output 0 = input 0. Backward: gradient 0 of the inputs = gradient 0 of the outputs.
std::unique_ptr<OperatorKernel> make_copy(Elementwise& elementwise, std::int64_t count);
// Backward only: gradient 0 of the inputs = the sum of two gradients of the outputs.
std::unique_ptr<OperatorKernel> make_sum(Elementwise& elementwise, std::int64_t count);
// Backward only: gradient 0 of the inputs = 0.
std::unique_ptr<OperatorKernel> make_zero(Elementwise& elementwise, std::int64_t count);

}  // namespace cohort
