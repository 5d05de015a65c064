// Waits that end by their limit. Run with a short one; see the folder's CMakeLists.txt.
#include <chrono>
#include <string>
#include <thread>

#include "test/support/all_ranks.hpp"
#include "test/support/mpi_main.hpp"

using namespace cohort;
using test::test_world;

namespace {

struct Outcome {
  std::string text;
  bool timeout = false;
  std::chrono::duration<double> seconds{};
};

template <class Call>
Outcome outcome_of(Call&& call) {
  Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  try {
    call();
  } catch (const Error& error) {
    outcome.text = error.what();
    outcome.timeout = error.kind() == ErrorKind::timeout;
  }
  outcome.seconds = std::chrono::steady_clock::now() - start;
  return outcome;
}

}  // namespace

TEST_CASE("a rank that does not come is a timeout in time, naming operation, purpose and ranks") {
  World& world = test_world();
  if (world.size() == 1) return;
  const std::chrono::duration<double> limit = world.options().wait_limit;
  const auto group = world.all().split(0, world.rank());
  Outcome outcome;
  if (world.rank() + 1 == world.size()) {
    std::this_thread::sleep_for(1.5 * limit);
    group->barrier("bucket 3");  // completes what the others have given up, so that the run can end in order
  } else {
    outcome = outcome_of([&] { group->barrier("bucket 3"); });
    INFO(outcome.text << " after " << outcome.seconds.count() << " s");
    CHECK(outcome.timeout);
    CHECK(outcome.seconds >= limit);
    CHECK(outcome.seconds < 3 * limit);
    CHECK(outcome.text.find("barrier") != std::string::npos);
    CHECK(outcome.text.find("bucket 3") != std::string::npos);
    CHECK(outcome.text.find("rank " + std::to_string(world.rank())) != std::string::npos);
    CHECK(outcome.text.find("ranks 0, 1") != std::string::npos);
  }
}
