// What the operating system says about the other ranks of this host.
#pragma once

#include <string>

#include "collectives/world.hpp"

namespace cohort {

// "; stopped on this host: rank 1 (node17:4122)" for ranks whose processes are stopped or gone, to be added to the text
// of a wait that has run out; empty when there are none, or where /proc is not to be read. Ranks of other hosts are not
// seen.
std::string stopped_peers(const World& world);

}  // namespace cohort
