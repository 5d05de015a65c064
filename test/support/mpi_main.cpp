// The main of tests that run with ranks: one World around the whole session, the worst result of all ranks for each.
#include "test/support/mpi_main.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/base/log.hpp"
#include "test/support/time_limit.hpp"

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

namespace cohort::test {
namespace {

// What the listener and the tests reach; Catch makes the listener itself, so there is no other way to hand it over.
World* the_world = nullptr;
TimeLimit* the_limit = nullptr;

// Failures show at once: when one rank leaves a collective by a failed assertion, the others wait in it and the run may
// end there.
void report_failure(const Catch::AssertionStats& stats) {
  const Catch::AssertionResult& result = stats.assertionResult;
  if (result.isOk()) return;
  std::ostringstream text;
  text << result.getSourceInfo().file << ":" << result.getSourceInfo().line << ": " << result.getExpressionInMacro();
  if (result.hasExpandedExpression()) text << " -> " << result.getExpandedExpression();
  text << " " << result.getMessage();
  log_failure(text.str());
}

#if __has_include(<catch2/catch_all.hpp>)
class RankListener final : public Catch::EventListenerBase {
 public:
  using EventListenerBase::EventListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    if (the_limit != nullptr) the_limit->begin(test.name);
  }
  void testCaseEnded(const Catch::TestCaseStats&) override {
    if (the_limit != nullptr) the_limit->end();
  }
  void assertionEnded(const Catch::AssertionStats& stats) override { report_failure(stats); }
};
#else
class RankListener final : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;
  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    TestEventListenerBase::testCaseStarting(test);
    if (the_limit != nullptr) the_limit->begin(test.name);
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (the_limit != nullptr) the_limit->end();
    TestEventListenerBase::testCaseEnded(stats);
  }
  bool assertionEnded(const Catch::AssertionStats& stats) override {
    report_failure(stats);
    return true;
  }
};
#endif
CATCH_REGISTER_LISTENER(RankListener)

struct MainOptions {
  WorldOptions world;
  std::chrono::seconds test_limit{60};
  std::vector<char*> rest;  // for Catch
};

std::vector<int> parse_list(const std::string& text) {
  std::vector<int> numbers;
  std::istringstream stream(text);
  for (std::string item; std::getline(stream, item, ',');) numbers.push_back(std::stoi(item));
  return numbers;
}

// Whether `name` is one of ours, which takes `value`.
bool take_option(MainOptions& options, const std::string& name, const std::string& value) {
  if (name == "--ranks-per-node") {
    options.world.ranks_per_node = parse_list(value);
  } else if (name == "--wait-limit-ms") {
    options.world.wait_limit = std::chrono::milliseconds(std::stol(value));
  } else if (name == "--message-limit") {
    options.world.message_limit = std::stol(value);
  } else if (name == "--shared-memory-limit") {
    options.world.shared_memory_limit = std::stoul(value);
  } else if (name == "--segment-directory") {
    options.world.segment_directories.push_back(value);
  } else if (name == "--test-limit") {
    options.test_limit = std::chrono::seconds(std::stol(value));
  } else {
    return false;
  }
  return true;
}

MainOptions parse(int argc, char** argv) {
  MainOptions options;
  options.world.wait_limit = std::chrono::seconds(30);
  for (int i = 0; i < argc; ++i) {
    if (i > 0 && i + 1 < argc && take_option(options, argv[i], argv[i + 1])) {
      ++i;
    } else {
      options.rest.push_back(argv[i]);
    }
  }
  return options;
}

// Lists and help need no ranks.
bool only_prints(const Catch::Session& session) {
#if __has_include(<catch2/catch_all.hpp>)
  const Catch::ConfigData& data = const_cast<Catch::Session&>(session).configData();
  return data.showHelp || data.libIdentify || data.listTests || data.listTags || data.listReporters ||
         data.listListeners;
#else
  const Catch::ConfigData& data = const_cast<Catch::Session&>(session).configData();
  return data.showHelp || data.libIdentify || data.listTests || data.listTags || data.listReporters ||
         data.listTestNamesOnly;
#endif
}

// Open MPI gives the first rank a pseudo-terminal; a log wants no colour codes.
void set_up_output(Catch::Session& session, int rank) {
#if __has_include(<catch2/catch_all.hpp>)
  session.configData().defaultColourMode = Catch::ColourMode::None;
#else
  session.configData().useColour = Catch::UseColour::No;
#endif
  if (rank == 0) return;
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) ::dup2(nowhere, STDOUT_FILENO);
}

int run_session(Catch::Session& session, World& world, std::chrono::seconds limit) {
  constexpr int limit_exit_code = 124;  // as of timeout(1)
  set_up_output(session, world.rank());
  TimeLimit watch(limit, [&](const std::string& test) {
    log_failure(fmt::format("still inside '{}' after {} s", test, limit.count()));
    world.abort(limit_exit_code);
  });
  the_limit = &watch;
  std::int32_t result = session.run();
  the_limit = nullptr;
  world.all().allreduce(view_of(&result, 1), ReduceOp::max, "the result of the tests");
  return result;
}

int run_ranks(Catch::Session& session, const MainOptions& options) {
  World world(options.world);
  the_world = &world;
  try {
    const int result = run_session(session, world, options.test_limit);
    world.finish();
    return result;
  } catch (const std::exception& error) {
    log_failure(error.what());
    world.abort(EXIT_FAILURE);
  }
}

}  // namespace

World& test_world() { return *the_world; }

}  // namespace cohort::test

int main(int argc, char** argv) {
  using namespace cohort::test;
  try {
    const MainOptions options = parse(argc, argv);
    Catch::Session session;
    const int parsed = session.applyCommandLine(static_cast<int>(options.rest.size()), options.rest.data());
    if (parsed != 0) return parsed;
    if (only_prints(session)) return session.run();
    return run_ranks(session, options);
  } catch (const std::exception& error) {
    cohort::log_failure(error.what());
    return EXIT_FAILURE;
  }
}
