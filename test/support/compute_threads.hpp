// A number of compute threads for a part of a test, whatever the machine has.
#pragma once

#include "kernels/base/compute_threads.hpp"

namespace cohort::test {

// Until its end; then the number is what it was. Neither copies nor moves.
class ComputeThreads {
 public:
  explicit ComputeThreads(int count) : before_(compute_threads()) { set_compute_threads(count); }
  ~ComputeThreads() { set_compute_threads(before_); }
  ComputeThreads(const ComputeThreads&) = delete;
  ComputeThreads& operator=(const ComputeThreads&) = delete;

 private:
  int before_;
};

}  // namespace cohort::test
