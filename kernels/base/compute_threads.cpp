#include "kernels/base/compute_threads.hpp"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "kernels/base/error.hpp"

namespace cohort {

void flush_denormals() {
#if defined(__x86_64__)
  constexpr unsigned flush_to_zero = 0x8000;
  constexpr unsigned denormals_are_zero = 0x0040;
  _mm_setcsr(_mm_getcsr() | flush_to_zero | denormals_are_zero);
#elif defined(__aarch64__)
  // FPCR.FZ flushes inputs and results alike.
  constexpr unsigned long flush_to_zero = 1UL << 24;
  unsigned long control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | flush_to_zero));
#endif
}

void set_compute_threads(int count) {
  COHORT_CHECK(count >= 1, "a rank computes with at least one thread, not {}", count);
  omp_set_num_threads(count);
  flush_denormals();
  if (count == 1) return;
    // The runtime keeps its threads from one parallel region to the next, and with them their control registers.
#pragma omp parallel num_threads(count)
  flush_denormals();
}

int compute_threads() { return omp_get_max_threads(); }

int available_cores() {
  struct FreeSet {
    void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
  };
  // The kernel refuses a mask shorter than its own, whose size cannot be asked for.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    const std::unique_ptr<cpu_set_t, FreeSet> set(CPU_ALLOC(static_cast<unsigned>(cpus)));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<unsigned>(cpus));
    if (!set) break;
    if (sched_getaffinity(0, bytes, set.get()) == 0) return std::max(1, CPU_COUNT_S(bytes, set.get()));
    if (errno != EINVAL) break;
  }
  return 1;
}

}  // namespace cohort
