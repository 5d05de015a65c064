#include "runtime/kvstore/group.hpp"

#include <algorithm>

namespace cohort {

Group make_node_group(World& world, int owners_per_node) {
  Group group;
  group.shared = true;
  group.local_rank = world.node_rank();
  std::vector<int> sizes(static_cast<std::size_t>(world.node_count()), 0);
  for (const RankInfo& info : world.ranks()) {
    if (info.node == world.node()) group.local_ranks.push_back(info.rank);
    ++sizes[static_cast<std::size_t>(info.node)];
  }
  group.owners = *std::min_element(sizes.begin(), sizes.end());
  if (owners_per_node > 0) group.owners = std::min(group.owners, owners_per_node);
  if (world.node_count() == 1) return group;

  auto rail = world.all().split(std::min(group.local_rank, group.owners), world.node());
  if (!group.owner()) return group;
  group.rail = std::move(rail);
  for (const RankInfo& info : world.ranks())
    if (info.node_rank == group.local_rank) group.rail_ranks.push_back(info.rank);
  const auto node = [&](int rank) { return world.ranks()[static_cast<std::size_t>(rank)].node; };
  std::sort(group.rail_ranks.begin(), group.rail_ranks.end(), [&](int a, int b) { return node(a) < node(b); });
  for (int member = 0; member < world.node_count(); ++member) group.rail_nodes.push_back({member});
  return group;
}

Group make_rank_group(World& world) {
  Group group;
  group.local_ranks = {world.rank()};
  if (world.size() == 1) return group;
  group.rail = world.all().split(0, world.rank());
  group.rail_nodes.resize(static_cast<std::size_t>(world.node_count()));
  for (const RankInfo& info : world.ranks()) {
    group.rail_ranks.push_back(info.rank);
    group.rail_nodes[static_cast<std::size_t>(info.node)].push_back(info.rank);
  }
  return group;
}

}  // namespace cohort
