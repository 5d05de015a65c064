// A limit on calls of the library that wait for other ranks and take none.
#pragma once

#include <chrono>
#include <string>

#include "kernels/base/watchdog.hpp"

namespace cohort::mpi {

// While it lives the call may take `limit`; then the process says so and ends, and the launcher ends the others.
// `what` completes "has not ...": "started MPI".
class CallLimit {
 public:
  CallLimit(std::chrono::milliseconds limit, std::string what);

 private:
  Watchdog watchdog_;
};

}  // namespace cohort::mpi
