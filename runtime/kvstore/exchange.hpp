// One piece of a key on its way between groups: sums of the groups meet at one member, which updates its part and hands
// the result to the others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/update.hpp"
#include "runtime/kvstore/group.hpp"
#include "runtime/kvstore/key_layout.hpp"

namespace cohort {

// What a round does with the sum of an owner's elements.
struct RoundWork {
  const UpdateKernel& kernel;  // of the update
  const UpdateKernel& assign;  // for plain sums
  UpdateStep step;
  std::span<float* const> gradients;  // whole arrays, by rank of the group
  float* target = nullptr;            // whole array that the result is written to
  std::span<float* const> states;     // begin at the first element this rank updates
};

// Direct reduce-scatter, update and allgather over the rail, each message once, never blocking: advance() is called
// until it says that the round is over. Members sum in the order of nodes, and ranks within a node, so all of them get
// the same bits. Steps per round: 2; elements sent: 2 (members - 1) / members of the piece. Neither copies nor moves.
class Exchange {
 public:
  // For a group with a rail, which outlives this. Messages carry `tag` and `tag` + 1; `what` names the key.
  Exchange(const Group& group, const Piece& piece, int tag, const std::string& what);

  // The part of the piece that this member updates.
  std::int64_t begin() const { return cut(rail_.rank()); }
  std::int64_t end() const { return cut(rail_.rank() + 1); }

  // Every rank of the group is ready. All that `work` points to stays until the round is over.
  void start(const RoundWork& work);
  bool advance(const RoundWork& work);
  // World ranks from which something is still missing.
  std::vector<int> missing() const;

 private:
  struct Flight {
    Request request;
    int member;
  };

  std::int64_t cut(int member) const;
  View part(float* whole, int member) const;
  void sum_group(const RoundWork& work);
  const float* group_part(const RoundWork& work, int member) const;
  void update(const RoundWork& work);
  std::span<const float* const> contributions(const UpdateKernel& assign);

  const Group& group_;
  Piece piece_;
  Communicator& rail_;
  int tag_;
  std::string sum_text_, result_text_;
  bool updated_ = false;
  std::vector<Flight> sums_, others_;  // receives that the update waits for; everything else

  std::shared_ptr<Buffer> memory_;
  float* own_sum_ = nullptr;       // of the group, over the piece; unused in a group of one
  std::vector<float*> incoming_;   // by member, over this member's part
  std::vector<float*> node_sums_;  // by node, where nodes have several members
  std::vector<const float*> member_sums_, node_pointers_, group_pointers_;
};

}  // namespace cohort
