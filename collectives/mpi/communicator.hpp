// A group of ranks over MPI.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/mpi/handles.hpp"

namespace cohort::mpi {

// The communicators of one session and what they have in common. It owns all handles, since to free one is collective:
// that happens in close(), in the order of their making, which is the same on all ranks that share them. Neither copies
// nor moves.
struct CommunicatorPool {
  std::chrono::milliseconds wait_limit{};
  std::int64_t message_limit = 0;  // elements per call; larger views are cut
  std::vector<Comm> comms;

  CommunicatorPool() = default;
  CommunicatorPool(const CommunicatorPool&) = delete;
  CommunicatorPool& operator=(const CommunicatorPool&) = delete;
  // What was not closed belongs to a session that has failed: left to the library.
  ~CommunicatorPool() {
    for (Comm& comm : comms) comm.release();
  }
  // Collective over all ranks.
  void close() noexcept { comms.clear(); }
};

// Blocking calls are nonblocking ones that are tested until the limit, so that a peer that has died or stopped is an
// error and not a hang. Uses, and does not own, a communicator of the pool; the pool outlives every use of it.
class Communicator final : public cohort::Communicator {
 public:
  // Takes the handle into the pool.
  Communicator(Comm comm, CommunicatorPool& pool);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  std::string_view backend() const override { return "mpi"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void barrier(std::string_view what) override;
  void broadcast(View data, int root, std::string_view what) override;
  void allreduce(View data, ReduceOp op, std::string_view what) override;
  void allgather(ConstView part, View all, std::string_view what) override;
  Request send(ConstView data, int peer, int tag, std::string_view what) override;
  Request receive(View data, int peer, int tag, std::string_view what) override;
  std::unique_ptr<cohort::Communicator> split(int color, int key) override;

  MPI_Comm handle() const { return comm_; }
  std::chrono::milliseconds wait_limit() const { return pool_.wait_limit; }
  // The ranks of a communicator that can share memory with the caller's, in rank order. Collective.
  std::unique_ptr<Communicator> split_shared();
  // Bytes of the shared windows over this group that are open.
  std::size_t window_bytes = 0;

 private:
  void wait(RequestHandle request, std::string_view operation, std::string_view what);
  std::int64_t piece(std::int64_t begin, std::int64_t count) const;
  void check_transfer(int peer, int tag, std::string_view what) const;

  MPI_Comm comm_;
  CommunicatorPool& pool_;
  int rank_ = 0;
  int size_ = 0;
};

// Whether the operation has completed; then the handle is null.
bool completed(RequestHandle& request);

}  // namespace cohort::mpi
