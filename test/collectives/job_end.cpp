// A job that ends in one of the ways that job_end_test.py asks for; main as a program of this project has it.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "collectives/node_segment.hpp"
#include "collectives/wait.hpp"
#include "collectives/world.hpp"
#include "kernels/base/log.hpp"

using namespace cohort;

// MPI's own second name for the call: the first one may be replaced by a program.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int PMPI_Finalize();

namespace {

bool stops_in_the_end = false;

constexpr int exit_failure = 1;
constexpr int exit_usage = 2;

// Waits in node-shared memory for what nobody ever writes: no call of the MPI library is made.
void wait_in_memory(World& world) {
  const auto segment = NodeSegment::allocate(world, 1 << 20, "a flag");
  std::memset(segment->part(world.node_rank()), 0, 1 << 20);
  const auto* flag = reinterpret_cast<const volatile std::int32_t*>(segment->part(0));
  world.all().barrier("the start");
  log_info("ready {} of {}", world.ranks()[static_cast<std::size_t>(world.rank())].pid, world.rank());
  wait_until([&] { return *flag != 0; }, world.options().wait_limit, [] { return "a flag that nobody raises"; });
}

// The last rank does not come to a barrier.
void wait_in_collective(World& world) {
  world.all().barrier("the start");
  log_info("ready {} of {}", world.ranks()[static_cast<std::size_t>(world.rank())].pid, world.rank());
  const bool absent = world.rank() + 1 == world.size();
  if (!absent) world.all().barrier("bucket 7");
  wait_until([] { return false; }, world.options().wait_limit, [] { return "the end of the test"; });
}

void act(World& world, const std::string& mode) {
  if (mode == "memory") return wait_in_memory(world);
  if (mode == "collective") return wait_in_collective(world);
  if (mode == "throw" && world.rank() == world.size() - 1) COHORT_FAIL(io, "the last rank cannot read its file");
  if (mode == "throw") return world.all().barrier("bucket 7");
  if (mode == "differ") return world.require_same("--lr", world.rank() == 1 ? "0.2" : "0.1");
  if (mode == "finish") return world.all().barrier("bucket 7");
  if (mode == "late") {
    stops_in_the_end = world.rank() == 1;
    return;
  }
  throw_usage("unknown mode {}", mode);
}

WorldOptions options_for(const std::string& mode, long wait_limit_ms) {
  WorldOptions options;
  options.wait_limit = std::chrono::milliseconds(wait_limit_ms);
  if (mode == "promise") {
    options.promised_tasks = 4;
    options.promised_by = "SLURM_NTASKS";
  }
  if (mode == "sizes") options.ranks_per_node = {1, 1};
  // Late enough for the other ranks to be gone, were they not to wait.
  options.say_usage = [](const Error& error) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    log_failure(error.what());
  };
  if (mode == "solo") options.solo = true;
  return options;
}

int run(const std::string& mode, const WorldOptions& options) {
  World world(options);
  try {
    if (mode != "solo") act(world, mode);
    world.finish();
    return EXIT_SUCCESS;
  } catch (const Error& error) {
    // A usage error is every rank's: one line from the first rank, and an end in good order.
    if (error.kind() == ErrorKind::usage) {
      if (world.rank() == 0) log_failure(error.what());
      world.finish();
      return exit_usage;
    }
    log_failure(error.what());
    world.abort(exit_failure);
  }
}

}  // namespace

// A rank that is stopped where only the library waits.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int MPI_Finalize() {
  if (stops_in_the_end) std::raise(SIGSTOP);
  return PMPI_Finalize();
}

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "finish";
  try {
    return run(mode, options_for(mode, argc > 2 ? std::atol(argv[2]) : 60'000));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::usage) return exit_usage;  // said by rank 0
    log_failure(error.what());
    return exit_failure;
  }
}
