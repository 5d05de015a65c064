// Which rank runs where.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "collectives/world.hpp"

namespace cohort {

// What a rank knows about itself when the table is made.
struct RankRecord {
  int memory_leader = 0;  // lowest rank that shares memory with it
  long pid = 0;
  std::string host;
  std::string library;   // "Open MPI 4.1.4"
  std::string build_id;  // of the running program, "" where it has none
};

// This process, apart from what MPI has to say.
RankRecord local_record();

// "rank 3 (node17:4122)".
std::string rank_name(int rank, const std::string& host, long pid);

// The records of all ranks, in rank order. Collective.
std::vector<RankRecord> gather_records(Communicator& all, const RankRecord& mine);

// Nodes are what shares memory, or the pretended ones of `ranks_per_node`. Throws Error(usage) for a node size below 1
// and for a pretended node whose ranks do not share memory. A pure function: the same on all ranks.
std::vector<RankInfo> make_rank_table(std::span<const RankRecord> records, std::span<const int> ranks_per_node);

// Throws Error(usage), the same on all ranks, where the ranks run different programs or different MPI libraries.
// Returns a warning where only the patch version of the library differs, else "".
std::string check_same_program(std::span<const RankRecord> records);

}  // namespace cohort
