// The one door to the MPI library: every call goes through COHORT_MPI.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace cohort::mpi {

// Counts the call; throws Error(mpi) with the call's text, MPI's own words and number, and the place, unless `code` is
// MPI_SUCCESS. Communicators and windows return their errors (Session and SharedWindow see to it).
void check(int code, const char* call, const char* file, int line);

// Calls that have passed through COHORT_MPI in this process.
std::uint64_t calls_made() noexcept;

}  // namespace cohort::mpi

// A macro only for the text of the call and its place.
#define COHORT_MPI(call) ::cohort::mpi::check((call), #call, __FILE__, __LINE__)
