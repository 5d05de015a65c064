// Cutting a loop over independent elements among the threads of the team.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace cohort::cpu {

// Below this many cheap elements per thread the team costs more than it saves.
inline constexpr std::int64_t element_grain = 16 * 1024;

// Calls body(part, begin, end) for at most `parts` ranges that cover [0, count), each on its own thread; ranges begin
// at multiples of `align`. With one part, runs on the calling thread alone. `body` must not throw.
template <class Body>
void parallel_parts(std::int64_t count, std::int64_t parts, std::int64_t align, const Body& body) {
  parts = std::min<std::int64_t>(parts, omp_get_max_threads());
  if (parts <= 1) {
    if (count > 0) body(std::int64_t{0}, std::int64_t{0}, count);
    return;
  }
#pragma omp parallel num_threads(static_cast <int>(parts))
  {
    const std::int64_t threads = omp_get_num_threads();
    const std::int64_t share = (count + threads - 1) / threads;
    const std::int64_t step = (share + align - 1) / align * align;
    const std::int64_t part = omp_get_thread_num();
    const std::int64_t begin = std::min(step * part, count);
    const std::int64_t end = std::min(begin + step, count);
    if (begin < end) body(part, begin, end);
  }
}

// Calls body(begin, end) for ranges that cover [0, count), one per thread, so that no thread gets fewer than `grain`
// indices. `body` must give the same results however the range is cut.
template <class Body>
void parallel_ranges(std::int64_t count, std::int64_t grain, std::int64_t align, const Body& body) {
  parallel_parts(count, count / std::max<std::int64_t>(grain, 1), align,
                 [&](std::int64_t, std::int64_t begin, std::int64_t end) { body(begin, end); });
}

}  // namespace cohort::cpu
