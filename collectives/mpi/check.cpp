#include "collectives/mpi/check.hpp"

#include <atomic>
#include <string>

#include "kernels/base/error.hpp"

namespace cohort::mpi {
namespace {

// A process has one MPI library, hence one count of calls into it.
std::atomic<std::uint64_t>& counter() noexcept {
  static std::atomic<std::uint64_t> calls{0};
  return calls;
}

std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return "unknown error";
  return {text, static_cast<std::size_t>(length)};
}

}  // namespace

void check(int code, const char* call, const char* file, int line) {
  counter().fetch_add(1, std::memory_order_relaxed);
  if (code == MPI_SUCCESS) [[likely]]
    return;
  throw Error(ErrorKind::mpi, fmt::format("{} failed: {} ({})", call, error_text(code), code),
              source_place(file, line));
}

std::uint64_t calls_made() noexcept { return counter().load(std::memory_order_relaxed); }

}  // namespace cohort::mpi
