// Memory shared by a group of ranks through an MPI window.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "collectives/node_segment.hpp"

namespace cohort::mpi {

// Bytes of the open windows over `group`.
std::size_t open_window_bytes(const cohort::Communicator& group);

// One part per rank with the sizes in `bytes` (the same list on all ranks). Collective over `group`, which is of
// backend mpi. Throws Error(mpi) on a rank where the library cannot; the others may then be left waiting inside it.
std::unique_ptr<NodeSegment> make_shared_window(cohort::Communicator& group, std::span<const std::size_t> bytes);

}  // namespace cohort::mpi
