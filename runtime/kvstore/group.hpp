// Who shares memory with this rank, and whom it exchanges sums with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/world.hpp"

namespace cohort {

// The job as a store sees it: groups of ranks that share one copy of the weights, and rails that connect owner i of
// every group. Weights in the node's memory make groups of nodes; weights kept by every rank make groups of one.
// Movable.
struct Group {
  bool shared = false;           // a group is a node; otherwise a single rank
  int local_rank = 0;            // of this rank in its group
  std::vector<int> local_ranks;  // world ranks of this group, ascending
  int owners = 1;                // the first ranks of every group own slices

  // Owner i of every group, in the order of the groups. Null where there is one group only, or when this rank is no
  // owner.
  std::unique_ptr<Communicator> rail;
  std::vector<int> rail_ranks;  // world ranks of the rail, in its order
  // Members of the rail node by node: what a node has contributed is summed first, so that sums have the same bits
  // wherever the weights lie.
  std::vector<std::vector<int>> rail_nodes;

  int next_tag = 0;  // of messages on the rail

  int local_size() const { return static_cast<int>(local_ranks.size()); }
  bool owner() const { return local_rank < owners; }
  int members() const { return rail ? static_cast<int>(rail_ranks.size()) : 1; }
};

// `owners_per_node` <= 0: as many as the smallest node has ranks. Collective.
Group make_node_group(World& world, int owners_per_node);
Group make_rank_group(World& world);

}  // namespace cohort
