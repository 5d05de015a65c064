// Waiting for another rank: bounded, yielding, and able to say for what.
#pragma once

#include <sched.h>

#include <chrono>
#include <string>

#include "kernels/base/error.hpp"

namespace cohort {

// Lets a spinning core breathe for a moment.
inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Spins a few microseconds, then yields the core between looks, until `ready()` is true. `ready` may do work that helps
// the wait to end. After `limit` throws Error(timeout) with the text that `describe()` gives.
template <class Ready, class Describe>
void wait_until(Ready&& ready, std::chrono::milliseconds limit, Describe&& describe) {
  constexpr int spins = 100;
  for (int spin = 0; spin < spins; ++spin) {
    if (ready()) return;
    pause_briefly();
  }
  const auto start = std::chrono::steady_clock::now();
  while (!ready()) {
    sched_yield();
    if (std::chrono::steady_clock::now() - start > limit) throw Error(ErrorKind::timeout, std::string(describe()));
  }
}

}  // namespace cohort
