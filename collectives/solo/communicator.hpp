// A group of one rank, without any library.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/communicator.hpp"

namespace cohort::solo {

// Messages of the rank to itself. The n-th receive of a tag takes the n-th message sent with it.
struct Mailbox {
  struct Counts {
    std::int64_t sent = 0;
    std::int64_t received = 0;
  };
  std::map<int, Counts> counts;
  std::map<std::pair<int, std::int64_t>, std::vector<std::byte>> messages;
};

class Communicator final : public cohort::Communicator {
 public:
  std::string_view backend() const override { return "solo"; }
  int rank() const override { return 0; }
  int size() const override { return 1; }

  void barrier(std::string_view) override {}
  void broadcast(View data, int root, std::string_view what) override;
  void allreduce(View data, ReduceOp op, std::string_view what) override;
  void allgather(ConstView part, View all, std::string_view what) override;
  Request send(ConstView data, int peer, int tag, std::string_view what) override;
  Request receive(View data, int peer, int tag, std::string_view what) override;
  std::unique_ptr<cohort::Communicator> split(int color, int key) override;

 private:
  std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
};

}  // namespace cohort::solo
