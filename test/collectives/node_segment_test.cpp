// Memory shared by the ranks of a node, wherever the options of this run let it lie.
#include "collectives/node_segment.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "test/support/all_ranks.hpp"
#include "test/support/mpi_main.hpp"

using namespace cohort;
using test::test_world;

namespace {

// The kind of memory that `bytes` for a whole node come to by the options of this run; "" for none.
std::string expected_kind(const World& world, std::size_t bytes) {
  const WorldOptions& options = world.options();
  if (world.node_size() == 1) return "private";
  if (options.shared_memory_limit == 0 || bytes <= options.shared_memory_limit) return "mpi window";
  // Directories that cannot hold it are passed over; the last one of a run can.
  return options.segment_directories.empty() ? "" : "file in " + options.segment_directories.back();
}

std::size_t node_total(World& world, std::size_t bytes) {
  auto total = static_cast<std::int64_t>(bytes);
  world.node_group().allreduce(view_of(&total, 1), ReduceOp::sum, "a test");
  return static_cast<std::size_t>(total);
}

bool zero_filled(const NodeSegment& segment, int part) {
  const std::byte* const begin = segment.part(part);
  for (std::size_t i = 0; i < segment.part_bytes(part); ++i)
    if (begin[i] != std::byte{0}) return false;
  return true;
}

std::byte mark(const World& world, int part, int round) {
  return static_cast<std::byte>(17 * world.node() + 5 * part + round + 1);
}

}  // namespace

TEST_CASE("parts are aligned, zero and seen by all ranks of the node") {
  World& world = test_world();
  const std::size_t unit = GENERATE(1, 4095, 4096, 100'001);
  const std::size_t mine = unit * static_cast<std::size_t>(world.node_rank() + 1);
  const std::size_t total = node_total(world, mine);
  const auto segment = NodeSegment::allocate(world, mine, "a test");
  const std::string kind = segment ? segment->kind() : "";
  bool shape = true;
  bool zero = true;
  bool seen = true;
  for (int part = 0; segment && part < world.node_size(); ++part) {
    shape = shape && segment->part_bytes(part) == unit * static_cast<std::size_t>(part + 1);
    shape = shape && reinterpret_cast<std::uintptr_t>(segment->part(part)) % 4096 == 0;
    zero = zero && zero_filled(*segment, part);
  }
  world.node_group().barrier("a test");
  // Everybody writes the part of the next rank, to its last byte, then reads all of them.
  for (int round = 0; segment && round < 2; ++round) {
    const int next = (world.node_rank() + 1) % world.node_size();
    std::memset(segment->part(next), static_cast<int>(mark(world, next, round)), segment->part_bytes(next));
    world.node_group().barrier("a test");
    for (int part = 0; part < world.node_size(); ++part) {
      const std::size_t last = segment->part_bytes(part) - 1;
      seen = seen && segment->part(part)[0] == mark(world, part, round);
      seen = seen && segment->part(part)[last] == mark(world, part, round);
    }
    world.node_group().barrier("a test");
  }
  if (segment) segment->close();
  INFO("unit " << unit << ", " << kind);
  REQUIRE_ALL(world, kind == expected_kind(world, total));
  REQUIRE_ALL(world, shape);
  REQUIRE_ALL(world, zero);
  REQUIRE_ALL(world, seen);
}

TEST_CASE("parts of no bytes are allowed, and several segments live side by side") {
  World& world = test_world();
  const bool first = world.node_rank() == 0;
  const std::size_t mine = first ? 5000 : 0;
  const auto one = NodeSegment::allocate(world, mine, "a test");
  const auto two = NodeSegment::allocate(world, mine, "a test");
  bool right = (one != nullptr) == (two != nullptr);
  if (one && two) {
    if (first) {
      std::memset(one->part(0), 1, 5000);
      std::memset(two->part(0), 2, 5000);
    }
    world.node_group().barrier("a test");
    right = one->part(0)[4999] == std::byte{1} && two->part(0)[0] == std::byte{2};
    one->close();
    right = right && two->part(0)[4999] == std::byte{2};
    two->close();
  }
  REQUIRE_ALL(world, right);
}

TEST_CASE("more than any file system holds comes to no segment, not to a fatal signal") {
  World& world = test_world();
  const bool shared = world.node_size() > 1;  // a rank alone gets private memory, which nobody reserves
  const auto segment = shared ? NodeSegment::allocate(world, std::size_t{1} << 50, "a test of too much") : nullptr;
  REQUIRE_ALL(world, segment == nullptr);
}

TEST_CASE("memory comes back: many segments one after the other") {
  World& world = test_world();
  const std::size_t bytes = 8 << 20;
  const std::string expected = expected_kind(world, bytes * static_cast<std::size_t>(world.node_size()));
  bool right = true;
  for (int i = 0; i < 20; ++i) {
    const auto segment = NodeSegment::allocate(world, bytes, "a test");
    right = right && (segment ? segment->kind() : "") == expected;
    if (!segment) continue;
    std::byte* const own = segment->part(world.node_rank());
    right = right && own[0] == std::byte{0} && own[bytes - 1] == std::byte{0};
    std::memset(own, 1, bytes);
    segment->close();
  }
  REQUIRE_ALL(world, right);
}
