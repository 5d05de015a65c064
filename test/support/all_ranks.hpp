// Assertions that all ranks agree on before any of them leaves the test.
#pragma once

#include "collectives/world.hpp"
#include "test/support/catch.hpp"

namespace cohort::test {

// Whether `mine` holds on every rank. Collective.
inline bool holds_everywhere(World& world, bool mine) {
  std::int32_t all = mine ? 1 : 0;
  world.all().allreduce(view_of(&all, 1), ReduceOp::min, "an assertion of all ranks");
  return all != 0;
}

}  // namespace cohort::test

// A REQUIRE whose failure on one rank fails the test on all of them: nobody is left waiting in the next collective.
// The condition is evaluated once. Collective over the world.
#define REQUIRE_ALL(world, ...)                                              \
  do {                                                                       \
    CHECK(__VA_ARGS__);                                                      \
    const bool mine_holds = Catch::getResultCapture().lastAssertionPassed(); \
    if (!::cohort::test::holds_everywhere(world, mine_holds)) {              \
      if (mine_holds) FAIL("on another rank: " #__VA_ARGS__);                \
      FAIL("on this rank: " #__VA_ARGS__);                                   \
    }                                                                        \
  } while (false)
