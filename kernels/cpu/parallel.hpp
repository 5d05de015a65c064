// Cutting a loop over independent elements among the threads of the team.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace cohort::cpu {

// Below this many cheap elements per thread the team costs more than it saves.
inline constexpr std::int64_t element_grain = 16 * 1024;

// Calls body(begin, end) for ranges that cover [0, count), one per thread; on the calling thread alone when a thread
// would get fewer than `grain` indices. Ranges begin at multiples of `align`. `body` must not throw, and must give the
// same results however the range is cut.
template <class Body>
void parallel_ranges(std::int64_t count, std::int64_t grain, std::int64_t align, const Body& body) {
  const std::int64_t wanted = std::min<std::int64_t>(omp_get_max_threads(), count / std::max<std::int64_t>(grain, 1));
  if (wanted <= 1) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel num_threads(static_cast <int>(wanted))
  {
    const std::int64_t threads = omp_get_num_threads();
    const std::int64_t share = (count + threads - 1) / threads;
    const std::int64_t step = (share + align - 1) / align * align;
    const std::int64_t begin = std::min(step * omp_get_thread_num(), count);
    const std::int64_t end = std::min(begin + step, count);
    if (begin < end) body(begin, end);
  }
}

}  // namespace cohort::cpu
