// The MPI library from its start to its end, for the world. Knows nothing of mpi.h, so that the world need not either.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "collectives/world.hpp"

namespace cohort::mpi {

// One per process and process life. Neither copies nor moves.
class Session {
 public:
  // Starts MPI with errors that return. Throws Error(mpi) where the library grants less than the thread level.
  explicit Session(const WorldOptions& options);
  // Without finish(): leaves everything to abort() or the end of the process.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // All ranks of the job. A duplicate: what other code sends over MPI_COMM_WORLD does not meet ours.
  cohort::Communicator& all();
  // The lowest rank among those that share memory with this one.
  int memory_leader() const;
  // "Open MPI 4.1.4".
  const std::string& library() const;
  ThreadLevel thread_level() const;

  // Collective: frees the communicators and ends MPI.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::uint64_t calls_made() noexcept;
// Ends the job; does not return.
[[noreturn]] void abort_job(int code) noexcept;

}  // namespace cohort::mpi
