// How many threads one rank computes with, and how they treat tiny numbers.
#pragma once

namespace cohort {

// Sets the size of the OpenMP team that kernels use (at least 1) and puts every thread of it, and the caller, into
// flush-to-zero and denormals-are-zero mode: momentum that decays into denormals would cost six times as much.
void set_compute_threads(int count);
int compute_threads();

// Puts the calling thread into flush-to-zero mode; for threads outside the team that do arithmetic.
void flush_denormals();

// Cores this process may run on (its affinity mask), at least 1.
int available_cores();

}  // namespace cohort
