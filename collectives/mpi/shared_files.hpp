// The shared-memory files of the MPI library itself.
//
// Open MPI's transport inside a node (vader) keeps one file per rank in /dev/shm for as long as the job runs, and a job
// whose launcher is killed leaves them there, 4 MB a rank, until somebody cleans up. A file that every rank of the node
// has mapped needs no name any more: taking the names away right after the start leaves nothing that a kill could
// leave.
#pragma once

#include <string>
#include <vector>

#include "collectives/communicator.hpp"

namespace cohort::mpi {

// Removes the names of those files of the library that all ranks of `memory_group` have mapped, and returns them.
// Files that some rank has not mapped (yet) stay as they are. Collective over the ranks that share memory.
std::vector<std::string> unlink_library_files(cohort::Communicator& memory_group);

// Puts empty files back under the names. The library removes its own at its end and complains where there is none. To
// be called by every rank before a barrier that comes before MPI's end.
void restore_names(const std::vector<std::string>& names) noexcept;

}  // namespace cohort::mpi
