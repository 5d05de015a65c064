// Receptive fields of a convolution as rows of a matrix ("columns"): one row per output pixel of an image, ordered
// (kernel row, kernel column, channel) so that what lies together in a channels-last image is copied together. For
// specs with one group and without padding: every field lies inside its image.
#pragma once

#include <cstdint>

#include "kernels/conv2d.hpp"

namespace cohort::cpu {

// Floats of one row.
std::int64_t column_count(const Conv2dSpec& spec);
// Floats that a buffer for `rows` rows needs: a copy may write past its end, to be overwritten by the next.
std::int64_t column_buffer_size(const Conv2dSpec& spec, std::int64_t rows);

// Writes the rows of one image. Nothing at or past `data_end` is read.
void gather_columns(const Conv2dSpec& spec, const float* image, const float* data_end, float* columns);
// The reverse: image = sum over the rows of what they hold of each of its elements.
void scatter_columns(const Conv2dSpec& spec, const float* columns, float* image);

}  // namespace cohort::cpu
