// trainer: parse, start the world, train, and turn every outcome into an exit code: 0 done, 1 failed, 2 usage.
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "apps/trainer/environment.hpp"
#include "apps/trainer/job.hpp"
#include "apps/trainer/options.hpp"
#include "collectives/peer_state.hpp"
#include "collectives/world.hpp"
#include "kernels/base/log.hpp"
#include "runtime/kvstore/kvstore.hpp"

namespace {

constexpr int done = 0;
constexpr int failed = 1;
constexpr int wrong_usage = 2;

cohort::WorldOptions world_options(const cohort::TrainConfig& config, const cohort::LaunchEnvironment& environment) {
  cohort::WorldOptions options;
  const bool local = config.kv_store.empty() || !cohort::find_store(config.kv_store).distributed;
  options.solo = !environment.launched && local;
  for (const std::int64_t size : cohort::parse_integers(config.ranks_per_node, "ranks-per-node"))
    options.ranks_per_node.push_back(static_cast<int>(size));
  options.promised_tasks = environment.promised_tasks;
  options.promised_by = environment.promised_by;
  options.allow_singleton = config.allow_singleton;
  options.wait_limit = std::chrono::milliseconds(static_cast<std::int64_t>(config.stall_abort * 1000));
  options.segment_directories = environment.scratch_directories;
  return options;
}

int show(const cohort::ParsedOptions& parsed) {
  std::fputs(parsed.message.c_str(), parsed.failed ? stderr : stdout);
  std::fflush(parsed.failed ? stderr : stdout);
  return parsed.failed ? wrong_usage : done;
}

// Wrong usage is found by all ranks alike: rank 0 says it, all of them leave in good order.
int run_in(cohort::World& world, const cohort::ParsedOptions& parsed) {
  int code = done;
  try {
    // What a rank is about to do comes first: ranks that were started with different command lines do not meet later.
    world.require_same("command line", parsed.failed ? parsed.message : parsed.message.empty() ? "train" : "print");
    if (!parsed.message.empty())
      code = world.rank() == 0 ? show(parsed) : (parsed.failed ? wrong_usage : done);
    else
      cohort::run_training_job(world, parsed.config);
  } catch (const cohort::Error& error) {
    if (error.kind() != cohort::ErrorKind::usage) throw;
    if (world.rank() == 0) std::fprintf(stderr, "trainer: %s\n", error.what());
    code = wrong_usage;
  }
  world.finish();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const cohort::ParsedOptions parsed = cohort::parse_options(argc, argv);
  const cohort::LaunchEnvironment environment = cohort::read_environment();
  if (!parsed.message.empty() && !environment.launched) return show(parsed);
  try {
    const cohort::WorldOptions options =
        parsed.failed ? cohort::WorldOptions{} : world_options(parsed.config, environment);
    cohort::World world(options);
    try {
      return run_in(world, parsed);
    } catch (const cohort::Error& error) {
      const bool waited = error.kind() == cohort::ErrorKind::timeout;
      cohort::log_failure(error.what() + (waited ? cohort::stopped_peers(world) : std::string()));
      world.abort(failed);
    } catch (const std::exception& error) {
      cohort::log_failure(error.what());
      world.abort(failed);
    }
  } catch (const cohort::Error& error) {
    cohort::log_failure(error.what());
    return error.kind() == cohort::ErrorKind::usage ? wrong_usage : failed;
  } catch (const std::exception& error) {
    cohort::log_failure(error.what());
    return failed;
  }
}
