// What tests that run with ranks get from their main.
#pragma once

#include "collectives/world.hpp"

namespace cohort::test {

// The ranks of this run. Made and ended by the main; its options come from the command line:
//   --ranks-per-node 2,1   --wait-limit-ms N   --message-limit N   --shared-memory-limit BYTES
//   --segment-directory DIR (may be repeated)  --test-limit SECONDS
World& test_world();

}  // namespace cohort::test
