// Element-by-element conversion between host memory of different element types.
#pragma once

#include "kernels/base/view.hpp"

namespace cohort {

// Copies as many elements as both views have (counts are equal). Equal types copy bytes; else values convert as C++
// does. float16 and bfloat16 convert to and from nothing but themselves: Error(check), also from check_convertible.
void convert_elements(ConstView from, View to);
void check_convertible(DType from, DType to);

}  // namespace cohort
