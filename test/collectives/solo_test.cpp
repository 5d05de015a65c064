// The world and the communicator of one rank, without MPI.
#include <cstdint>
#include <string>
#include <vector>

#include "collectives/node_segment.hpp"
#include "collectives/rank_table.hpp"
#include "collectives/world.hpp"
#include "test/support/catch.hpp"

using namespace cohort;

namespace {

WorldOptions solo_options() {
  WorldOptions options;
  options.solo = true;
  return options;
}

std::vector<int> nodes_of(const std::vector<RankInfo>& table) {
  std::vector<int> nodes;
  nodes.reserve(table.size());
  for (const RankInfo& info : table) nodes.push_back(info.node);
  return nodes;
}

// `leaders` of ranks on hosts of their own: rank i shares memory with rank leaders[i].
std::vector<RankRecord> records_of(const std::vector<int>& leaders) {
  std::vector<RankRecord> records;
  records.reserve(leaders.size());
  for (const int leader : leaders) records.push_back({leader, 100, "host" + std::to_string(leader), "X 1.2.3", "id"});
  return records;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The text of the usage error that `call` throws.
template <class Call>
std::string usage_error(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    REQUIRE(error.kind() == ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a solo world is one rank on one node and calls no library") {
  World world(solo_options());
  REQUIRE(world.solo());
  REQUIRE(world.rank() == 0);
  REQUIRE(world.size() == 1);
  REQUIRE(world.node_count() == 1);
  REQUIRE(world.node_size() == 1);
  REQUIRE(world.ranks().size() == 1);
  REQUIRE(describe_library(world) == "no MPI");
  world.require_same("anything", "text");
  world.all().barrier("a test");
  world.finish();
  REQUIRE(world.mpi_calls() == 0);
}

TEST_CASE("a solo world's node memory is private, aligned and zero") {
  World world(solo_options());
  const auto segment = NodeSegment::allocate(world, 10'000, "a test");
  REQUIRE(segment->kind() == "private");
  REQUIRE(segment->part_bytes(0) == 10'000);
  REQUIRE(reinterpret_cast<std::uintptr_t>(segment->part(0)) % 4096 == 0);
  REQUIRE(segment->part(0)[9'999] == std::byte{0});
  segment->close();
}

TEST_CASE("solo collectives leave the data as they are") {
  World world(solo_options());
  std::vector<float> values{1, 2, 3};
  std::vector<float> gathered(3);
  world.all().broadcast(view_of(values.data(), 3), 0, "a test");
  world.all().allreduce(view_of(values.data(), 3), ReduceOp::sum, "a test");
  world.all().allgather(view_of(values.data(), 3), view_of(gathered.data(), 3), "a test");
  REQUIRE(values == std::vector<float>{1, 2, 3});
  REQUIRE(gathered == values);
  REQUIRE_THROWS_AS(world.all().broadcast(view_of(values.data(), 3), 1, "a test"), Error);
  REQUIRE(world.all().split(4, 2)->size() == 1);
}

TEST_CASE("solo messages match by tag and order, whichever side comes first") {
  World world(solo_options());
  Communicator& all = world.all();
  float in[3] = {};
  const float out[3] = {1, 2, 3};
  Request first = all.receive(view_of(&in[0], 1), 0, 1, "a test");
  Request second = all.receive(view_of(&in[1], 1), 0, 1, "a test");
  REQUIRE_FALSE(second.test());
  for (int i = 0; i < 3; ++i) REQUIRE(all.send(view_of(&out[i], 1), 0, i < 2 ? 1 : 2, "a test").test());
  Request third = all.receive(view_of(&in[2], 1), 0, 2, "a test");
  REQUIRE(second.test());
  REQUIRE(first.test());
  REQUIRE(third.test());
  REQUIRE(std::vector<float>(in, in + 3) == std::vector<float>{1, 2, 3});
}

TEST_CASE("nodes are what shares memory, numbered by first rank") {
  const auto records = records_of({0, 1, 0, 1, 4});
  const auto table = make_rank_table(records, {});
  REQUIRE(nodes_of(table) == std::vector<int>{0, 1, 0, 1, 2});
  REQUIRE(table[3].node_rank == 1);
  REQUIRE(table[4].node_rank == 0);
  REQUIRE(table[4].host == "host4");
}

TEST_CASE("pretended nodes take the ranks in order; one size is that of all") {
  const auto records = records_of({0, 0, 0, 0, 0, 0});
  const auto nodes = [&](const std::vector<int>& sizes) { return nodes_of(make_rank_table(records, sizes)); };
  REQUIRE(nodes({1}) == std::vector<int>{0, 1, 2, 3, 4, 5});
  REQUIRE(nodes({2}) == std::vector<int>{0, 0, 1, 1, 2, 2});
  REQUIRE(nodes({4}) == std::vector<int>{0, 0, 0, 0, 1, 1});
  REQUIRE(nodes({2, 1, 3}) == std::vector<int>{0, 0, 1, 2, 2, 2});
  REQUIRE(nodes({5, 1}) == std::vector<int>{0, 0, 0, 0, 0, 1});
}

TEST_CASE("pretended nodes that cannot be are usage errors") {
  const auto error = [](const std::vector<int>& leaders, const std::vector<int>& sizes) {
    return usage_error([&] { make_rank_table(records_of(leaders), sizes); });
  };
  REQUIRE(contains(error({0, 0}, {0}), "at least 1"));
  REQUIRE(contains(error({0, 0, 0}, {3, 1}), "of 3, 1 ranks are 4 ranks together; there are 3"));
  REQUIRE(contains(error({0, 0, 0, 0}, {2, 1}), "there are 4"));
  REQUIRE(contains(error({0, 1}, {2}), "rank 0 (host0:100) and rank 1 (host1:100)"));
}

TEST_CASE("another build or another library is an error, another patch version a warning") {
  auto records = records_of({0, 0, 0});
  REQUIRE(check_same_program(records).empty());
  records[2].library = "X 1.2.4";
  REQUIRE(contains(check_same_program(records), "rank 2 (host0:100) has X 1.2.4"));
  records[2].library = "X 1.3.3";
  REQUIRE(contains(usage_error([&] { check_same_program(records); }), "different MPI libraries"));
  records[2].library = records[0].library;
  records[1].build_id = "other";
  REQUIRE(contains(usage_error([&] { check_same_program(records); }), "rank 1 (host0:100) run different builds"));
}

TEST_CASE("limits that cannot be are refused") {
  WorldOptions options = solo_options();
  options.message_limit = 0;
  REQUIRE_THROWS_AS(World(options), Error);
  options = solo_options();
  options.wait_limit = std::chrono::milliseconds(0);
  REQUIRE_THROWS_AS(World(options), Error);
}
