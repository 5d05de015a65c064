// Memory shared by the ranks of a node.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "collectives/world.hpp"

namespace cohort {

// One part per rank of the node, zero-filled, each aligned to 4096 bytes and readable and writable by all of them.
// A part is touched first by whoever uses it: pages lie where the first writer runs. Neither copies nor moves.
class NodeSegment {
 public:
  // Collective over the node, with the caller's own size. Tries MPI_Win_allocate_shared where the file system behind it
  // has the room, then a file in each of the world's segment directories. Returns null on every rank of the node when
  // none has the room; with one rank on the node it is plain memory. `what` names it in messages.
  static std::unique_ptr<NodeSegment> allocate(World& world, std::size_t bytes, const std::string& what);

  virtual ~NodeSegment() = default;
  virtual std::byte* part(int node_rank) const = 0;
  virtual std::size_t part_bytes(int node_rank) const = 0;
  // "private", "mpi window", "file in /scratch".
  virtual const std::string& kind() const = 0;
  // Collective over the node: releases the memory. Called before World::finish.
  virtual void close() = 0;
};

}  // namespace cohort
