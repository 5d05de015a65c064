// A group of ranks that talk to each other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "collectives/request.hpp"
#include "kernels/base/view.hpp"

namespace cohort {

enum class ReduceOp { sum, max, min };

// Backends: mpi (any number of ranks), solo (one rank, no library). Blocking calls are collective over the group, must
// be made in the same order on all its ranks, and only from the thread that started World. Each waits at most the
// world's limit, then throws Error(timeout). Errors of the library throw Error(mpi).
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual std::string_view backend() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // `what` describes the call for whoever has to find out why it waits.
  virtual void barrier(std::string_view what) = 0;
  virtual void broadcast(View data, int root, std::string_view what) = 0;
  virtual void allreduce(View data, ReduceOp op, std::string_view what) = 0;
  // `all` holds size() parts of part.count elements, in rank order.
  virtual void allgather(ConstView part, View all, std::string_view what) = 0;

  // Point to point, matched by (peer, tag) in order. Returns at once; the memory belongs to the request until it is
  // done. Tags are 0 to 32767.
  virtual Request send(ConstView data, int peer, int tag, std::string_view what) = 0;
  virtual Request receive(View data, int peer, int tag, std::string_view what) = 0;

  // A new group of the ranks that give the same color, ordered by key. Collective.
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;
};

// Convenience over allgather and broadcast, for small text. Collective.
std::string broadcast_text(Communicator& group, const std::string& text, int root, std::string_view what);

}  // namespace cohort
