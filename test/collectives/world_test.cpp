// Who is where, and whether all agree.
#include "collectives/world.hpp"

#include <unistd.h>

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "collectives/agreed_step.hpp"
#include "kernels/base/log.hpp"
#include "test/support/all_ranks.hpp"
#include "test/support/mpi_main.hpp"

using namespace cohort;
using test::test_world;

namespace {

// The node of a rank by the options of this run: one node, or the pretended ones.
int expected_node(const World& world, int rank) {
  const std::vector<int>& sizes = world.options().ranks_per_node;
  if (sizes.empty()) return 0;
  int node = 0;
  for (int first = 0;; ++node) {
    first += sizes[std::min(static_cast<std::size_t>(node), sizes.size() - 1)];
    if (rank < first) return node;
  }
}

std::string difference(World& world, const std::string& text) {
  try {
    world.require_same("the learning rate", text);
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::usage);
    return error.what();
  }
  return "no difference";
}

}  // namespace

TEST_CASE("the rank table holds every rank with node, node rank, host and pid") {
  World& world = test_world();
  REQUIRE_ALL(world, static_cast<int>(world.ranks().size()) == world.size());
  REQUIRE_ALL(world, world.ranks()[static_cast<std::size_t>(world.rank())].pid == static_cast<long>(::getpid()));
  bool right = true;
  std::vector<int> node_sizes(static_cast<std::size_t>(world.size()), 0);
  for (int rank = 0; rank < world.size(); ++rank) {
    const RankInfo& info = world.ranks()[static_cast<std::size_t>(rank)];
    right = right && info.rank == rank && info.node == expected_node(world, rank);
    right = right && info.node_rank == node_sizes[static_cast<std::size_t>(info.node)]++;
    right = right && !info.host.empty() && info.pid > 0;
  }
  REQUIRE_ALL(world, right);
  REQUIRE_ALL(world, world.node() == expected_node(world, world.rank()));
  REQUIRE_ALL(world, world.node_count() == expected_node(world, world.size() - 1) + 1);
  REQUIRE_ALL(world, world.node_size() == node_sizes[static_cast<std::size_t>(world.node())]);
  REQUIRE_ALL(world, world.node_rank() == world.ranks()[static_cast<std::size_t>(world.rank())].node_rank);
}

TEST_CASE("the node group holds the ranks of the node and no other") {
  World& world = test_world();
  Communicator& group = world.node_group();
  REQUIRE_ALL(world, group.size() == world.node_size());
  REQUIRE_ALL(world, group.rank() == world.node_rank());
  std::int64_t members = std::int64_t{1} << world.rank();
  group.allreduce(view_of(&members, 1), ReduceOp::sum, "a test");
  std::int64_t expected = 0;
  for (const RankInfo& info : world.ranks())
    if (info.node == world.node()) expected |= std::int64_t{1} << info.rank;
  REQUIRE_ALL(world, members == expected);
}

TEST_CASE("a rank is named by host and pid, in messages and in log lines") {
  World& world = test_world();
  const RankInfo& me = world.ranks()[static_cast<std::size_t>(world.rank())];
  REQUIRE(world.describe(world.rank()) ==
          "rank " + std::to_string(world.rank()) + " (" + me.host + ":" + std::to_string(me.pid) + ")");
  REQUIRE(identity_prefix() == "[rank " + std::to_string(world.rank()) + "/" + std::to_string(world.size()) + " " +
                                   me.host + ":" + std::to_string(me.pid) + "]");
}

TEST_CASE("the library and its thread level have a name") {
  const std::string text = describe_library(test_world());
  INFO(text);
  REQUIRE(text.find(", thread level ") != std::string::npos);
  REQUIRE(text.find("  ") == std::string::npos);
}

TEST_CASE("calls into the library are counted") {
  World& world = test_world();
  const std::uint64_t before = world.mpi_calls();
  REQUIRE(world.mpi_calls() == before);
  world.all().barrier("a test");
  REQUIRE_ALL(world, world.mpi_calls() > before);
}

TEST_CASE("require_same is silent where all agree") {
  World& world = test_world();
  REQUIRE_ALL(world, difference(world, "0.1") == "no difference");
  REQUIRE_ALL(world, difference(world, "") == "no difference");
}

TEST_CASE("require_same names what, the first rank that differs and both values, on every rank") {
  World& world = test_world();
  for (int odd = 1; odd < world.size(); ++odd) {
    // From `odd` on they differ; all of them, so that the first has to be found.
    const std::string text = difference(world, world.rank() >= odd ? "0.2" : "0.1");
    const std::string expected = "the learning rate must be the same on all ranks: " + world.describe(0) +
                                 " has \"0.1\", " + world.describe(odd) + " has \"0.2\"";
    REQUIRE_ALL(world, text == expected);
  }
  if (world.size() > 1) {  // the first rank is the odd one: then the second is named
    const std::string text = difference(world, world.rank() == 0 ? "0.2" : "0.1");
    REQUIRE_ALL(world, text.find(world.describe(1) + " has \"0.1\"") != std::string::npos);
  }
}

TEST_CASE("require_same shows the line that differs, cut around the difference") {
  World& world = test_world();
  if (world.size() == 1) return;
  const std::string lines = "--network lenet\n--lr ";
  const std::string text = difference(world, lines + (world.rank() == 1 ? "0.2" : "0.1") + "\n--seed 1");
  REQUIRE_ALL(world, text.find("\"--lr 0.1\"") != std::string::npos);
  REQUIRE_ALL(world, text.find("lenet") == std::string::npos);
  std::string longer(5000, 'a');
  if (world.rank() == 1) longer[2500] = 'b';
  const std::string cut = difference(world, longer);
  REQUIRE_ALL(world, cut.size() < 600);
  REQUIRE_ALL(world, cut.find('b', cut.rfind("has")) != std::string::npos);
}

TEST_CASE("a step that fails on one rank fails on all, with its kind and text") {
  World& world = test_world();
  const int odd = world.size() - 1;
  const auto outcome = [&](const auto& fail) -> std::string {
    try {
      agreed(world, "a step", [&] {
        if (world.rank() == odd) fail();
        return 7;
      });
    } catch (const AgreedError& error) {
      REQUIRE(found_by_all(error));
      return fmt::format("{} {}", to_string(error.kind()), error.message());
    }
    return "no error";
  };
  const std::string who = world.size() > 1 ? world.describe(odd) + ": " : std::string();
  REQUIRE_ALL(world, agreed(world, "a step", [] { return 7; }) == 7);
  REQUIRE_ALL(world, outcome([] { throw_usage("no such flag"); }) == "usage " + who + "no such flag");
  REQUIRE_ALL(world, outcome([] { throw Error(ErrorKind::io, "no file"); }).starts_with("usage " + who));
  REQUIRE_ALL(world, outcome([] { throw std::bad_alloc(); }) == "memory " + who + "a step: not enough memory");
  REQUIRE_ALL(world, outcome([] { throw std::runtime_error("odd"); }) == "check " + who + "a step: odd");
}
