// trainer: parse, start the world, train, and turn every outcome into an exit code: 0 done, 1 failed, 2 usage.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "apps/trainer/environment.hpp"
#include "apps/trainer/job.hpp"
#include "apps/trainer/options.hpp"
#include "collectives/agreed_step.hpp"
#include "collectives/peer_state.hpp"
#include "collectives/world.hpp"
#include "kernels/base/log.hpp"
#include "runtime/kvstore/kvstore.hpp"

namespace {

constexpr int done = 0;
constexpr int failed = 1;
constexpr int wrong_usage = 2;

void say(const cohort::Error& error) { std::fprintf(stderr, "trainer: %s\n", cohort::one_line(error.what()).c_str()); }

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

int exit_code(const cohort::Error& error) { return error.kind() == cohort::ErrorKind::usage ? wrong_usage : failed; }

int show(const cohort::ParsedOptions& parsed) {
  if (!parsed.failed) {
    cohort::print_output(parsed.message);
    return done;
  }
  std::fputs(parsed.message.c_str(), stderr);
  return wrong_usage;
}

// What the surroundings may spoil. A write past a limit on file sizes, or to a pipe whose reader has gone, is an error
// like a full disk, not the end of the process, and a standard stream that was closed is no number for the next file:
// writing to it fails.
void prepare_process() {
  for (const int signal : {SIGXFSZ, SIGPIPE}) std::signal(signal, SIG_IGN);
  while (true) {
    const int descriptor = ::open("/dev/null", O_RDONLY);
    if (descriptor > STDERR_FILENO) ::close(descriptor);
    if (descriptor < 0 || descriptor > STDERR_FILENO) return;
  }
}

// What all ranks find alike, rank 0 says, and all of them leave in good order.
int run_in(cohort::World& world, const cohort::ParsedOptions& parsed) {
  int code = done;
  try {
    if (!parsed.message.empty())
      code = world.rank() == 0 ? show(parsed) : (parsed.failed ? wrong_usage : done);
    else
      cohort::run_training_job(world, parsed.config);
  } catch (const cohort::Error& error) {
    if (!cohort::found_by_all(error)) throw;
    if (world.rank() == 0) say(error);
    code = exit_code(error);
  }
  world.finish();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  prepare_process();
  const cohort::ParsedOptions parsed = cohort::parse_options(argc, argv);
  const cohort::LaunchEnvironment environment = cohort::read_environment();
  try {
    if (!parsed.message.empty() && !environment.launched) return show(parsed);
    cohort::WorldOptions options = parsed.failed ? cohort::WorldOptions{} : world_options(parsed.config, environment);
    options.purpose = parsed.failed            ? parsed.message
                      : parsed.message.empty() ? "flags to train with"
                                               : "a question that is answered at once";
    options.say_usage = say;
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
    // Wrong usage has been said by rank 0.
    if (error.kind() != cohort::ErrorKind::usage) cohort::log_failure(error.what());
    return exit_code(error);
  } catch (const std::exception& error) {
    cohort::log_failure(error.what());
    return failed;
  }
}
