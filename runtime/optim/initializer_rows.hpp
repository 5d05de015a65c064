// The fills behind the initializer table.
#pragma once

#include "runtime/optim/initializer.hpp"

namespace cohort {

// rnd_type uniform or gaussian, factor_type avg, in or out, magnitude.
void fill_xavier(std::span<float> values, const Shape& shape, const RandomStream& stream,
                 InitializerArguments& arguments);
// Xavier(gaussian, in, 2).
void fill_default(std::span<float> values, const Shape& shape, const RandomStream& stream,
                  InitializerArguments& arguments);
// Xavier(gaussian, factor_type, 2 / (1 + slope^2)).
void fill_msra(std::span<float> values, const Shape& shape, const RandomStream& stream,
               InitializerArguments& arguments);
// sigma.
void fill_normal(std::span<float> values, const Shape& shape, const RandomStream& stream,
                 InitializerArguments& arguments);
// scale: from -scale to scale.
void fill_uniform(std::span<float> values, const Shape& shape, const RandomStream& stream,
                  InitializerArguments& arguments);
// value, which must be given.
void fill_constant(std::span<float> values, const Shape& shape, const RandomStream& stream,
                   InitializerArguments& arguments);
void fill_one(std::span<float> values, const Shape& shape, const RandomStream& stream, InitializerArguments& arguments);
void fill_zero(std::span<float> values, const Shape& shape, const RandomStream& stream,
               InitializerArguments& arguments);

}  // namespace cohort
