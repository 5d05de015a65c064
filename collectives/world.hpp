// The ranks of this job: started once in main, first object on its stack, passed down, never global.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "collectives/communicator.hpp"

namespace cohort {

enum class ThreadLevel { funneled, serialized, multiple };

// Where a rank runs. `node` counts hosts (or pretended nodes) from 0 in order of their first rank.
struct RankInfo {
  int rank = 0;
  int node = 0;
  int node_rank = 0;
  std::string host;
  long pid = 0;
};

struct WorldOptions {
  // No MPI at all: one rank, and no launcher variable is set.
  bool solo = false;
  ThreadLevel thread_level = ThreadLevel::funneled;
  // What this rank is about to do. It is compared before all that may differ with it, so that ranks that were started
  // with different command lines do not meet later.
  std::string purpose;
  // Pretended node sizes; empty: ranks that share memory form a node. One number is that of every node, the last of
  // which may be smaller; several must add up to the number of ranks. Ranks are dealt in rank order.
  std::vector<int> ranks_per_node;
  // Tasks that the batch system promised (SLURM_NTASKS, ...), 0 if unknown, and the variable that said so. A world of
  // one rank under a promise of more is an error with the fix, unless allowed.
  int promised_tasks = 0;
  std::string promised_by;
  bool allow_singleton = false;
  // Longest wait of any collective or store operation; the error names what was waited for and who is missing.
  std::chrono::milliseconds wait_limit{300'000};
  // Elements handed to the MPI library in one call; larger views are cut into pieces (MPI counts are of type int).
  std::int64_t message_limit = std::numeric_limits<std::int32_t>::max();
  // Directories for node-shared memory that MPI's own window cannot hold, tried in order, then none.
  std::vector<std::string> segment_directories;
  // Refuses node-shared memory beyond this many bytes (tests of the fallback); 0: what the file system has.
  std::size_t shared_memory_limit = 0;
  // Says on rank 0 the wrong usage that World's constructor is about to throw on every rank. It has to be said before
  // any rank leaves: a launcher ends the others as soon as one has left with a failure.
  std::function<void(const Error&)> say_usage;
};

class World {
 public:
  // Starts MPI (collective) unless solo. Sets the error handler to return, checks the thread level, the version of MPI
  // and the build id over all ranks. Throws Error(usage) on every rank alike, after `say_usage` and with MPI ended in
  // good order, or another kind on any rank: then the process has to exit non-zero, which makes the launcher end the
  // job.
  explicit World(const WorldOptions& options);
  // Local clean-up only. A world that was not finished has failed: then main calls abort().
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const;
  int size() const;
  int node() const;
  int node_count() const;
  int node_rank() const;
  int node_size() const;
  bool solo() const;
  // Every rank of the job, in rank order.
  const std::vector<RankInfo>& ranks() const;
  // "rank 3 (node17:4122)".
  std::string describe(int rank) const;
  const WorldOptions& options() const;

  // All ranks; the ranks of this node (in rank order).
  Communicator& all();
  Communicator& node_group();

  // Calls into the MPI library made so far by this process, Init included.
  std::uint64_t mpi_calls() const;

  // Collective: every rank is through. Frees communicators, ends MPI. Nothing but the destructor may follow.
  void finish();
  // Ends the whole job at once with `code`; does not return.
  [[noreturn]] void abort(int code) noexcept;

  // Compares `text` over all ranks; where one differs from rank 0's, throws Error(usage) on every rank with `what`, the
  // first differing rank and both values. Collective.
  void require_same(std::string_view what, const std::string& text);

 private:
  friend std::string describe_library(const World& world);
  struct State;
  std::unique_ptr<State> state_;
};

// "Open MPI 4.1.4, thread level funneled", or "no MPI".
std::string describe_library(const World& world);

}  // namespace cohort
