// Memory shared by the ranks of a node through a file without a name, and memory of a rank alone on its node.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "collectives/node_segment.hpp"

namespace cohort {

// One part per rank with the sizes in `bytes` (the same list on all ranks) in a file made in `directory`, with all its
// blocks allocated, so that a full disk shows here and not as a fatal signal at the first touch. Null on every rank
// where that fails; `reason` then says why. Collective over `group`.
std::unique_ptr<NodeSegment> make_file_segment(Communicator& group, std::span<const std::size_t> bytes,
                                               const std::string& directory, std::string& reason);

// One part of private memory, untouched. Throws Error(memory).
std::unique_ptr<NodeSegment> make_private_segment(std::size_t bytes);

}  // namespace cohort
