// The control words of all ranks, step by step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/node_segment.hpp"
#include "kernels/base/buffer.hpp"
#include "runtime/kvstore/group.hpp"
#include "runtime/kvstore/kvstore.hpp"

namespace cohort {

// Every rank posts one report per step and, before the next, collects those of all ranks. In a group they travel
// through shared memory, between groups in one message of rank 0 of each to every other. Two generations: whoever
// posts step s+2 has collected s+1, to which everybody who posted it came after collecting s. Neither copies nor moves.
class ReportBoard {
 public:
  // Collective over the node. `ok` is false on all its ranks when a shared group's memory has no room.
  ReportBoard(World& world, const Group& group);
  bool ok() const { return part(0) != nullptr; }

  void post(const StepReport& report);
  // Does what can be done without waiting; true when all reports of the last step posted are in.
  bool advance();
  bool complete() const { return collected_ == step_; }
  // World ranks whose report is still missing.
  std::vector<int> missing() const;
  std::uint64_t step() const { return step_; }
  // Of the last step whose reports are all in, in rank order.
  const std::vector<StepReport>& reports() const { return reports_; }

  // Collective over the node.
  void close();

 private:
  // One rank's control word: a cache line.
  struct alignas(64) Record {
    double loss_sum;
    double correct;
    std::int64_t samples;
    std::int64_t stop;
    std::uint64_t step;  // raised last
  };

  Record* part(int local_rank) const;
  Record& record(int local_rank) const;  // of the current step
  Record* remote() const;                // by world rank, of the current step; the first one's group sets `step` last
  bool exchange();
  void collect();

  World& world_;
  const Group& group_;
  std::unique_ptr<NodeSegment> segment_;
  std::shared_ptr<Buffer> memory_;
  std::vector<std::vector<int>> groups_;  // world ranks of every group, in the order of the rail
  int group_index_ = 0;

  std::uint64_t step_ = 0, collected_ = 0;
  bool sent_ = false;
  std::vector<std::vector<Record>> messages_;  // by group
  struct Flight {
    Request request;
    int group;
  };
  std::vector<Flight> flights_;
  std::vector<StepReport> reports_;
};

}  // namespace cohort
