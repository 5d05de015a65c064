#include "runtime/kvstore/exchange.hpp"

#include <algorithm>

namespace cohort {
namespace {

std::int64_t padded(std::int64_t count) { return (count + 15) / 16 * 16; }

}  // namespace

Exchange::Exchange(const Group& group, const Piece& piece, int tag, const std::string& what)
    : group_(group),
      piece_(piece),
      rail_(*group.rail),
      tag_(tag),
      sum_text_("sum of " + what),
      result_text_("result of " + what) {
  const auto members = static_cast<std::size_t>(rail_.size());
  const auto me = static_cast<std::size_t>(rail_.rank());
  const bool sums_group = group_.local_size() > 1;
  const bool sums_nodes = group_.rail_nodes.size() > 1 && group_.rail_nodes.size() < members;
  const std::int64_t mine = padded(end() - begin());
  std::int64_t elements = (sums_group ? padded(piece_.end - piece_.begin) : 0) +
                          mine * static_cast<std::int64_t>(members - 1 + (sums_nodes ? group_.rail_nodes.size() : 0));
  memory_ = Buffer::allocate(static_cast<std::size_t>(elements) * sizeof(float));
  float* next = static_cast<float*>(memory_->data());
  const auto take = [&](std::int64_t count) { return std::exchange(next, next + count); };
  if (sums_group) own_sum_ = take(padded(piece_.end - piece_.begin));
  for (std::size_t member = 0; member < members; ++member) incoming_.push_back(member == me ? nullptr : take(mine));
  if (sums_nodes)
    for (std::size_t node = 0; node < group_.rail_nodes.size(); ++node) node_sums_.push_back(take(mine));
  member_sums_.resize(members);
}

std::int64_t Exchange::cut(int member) const { return aligned_cut(piece_.begin, piece_.end, member, rail_.size()); }

View Exchange::part(float* whole, int member) const {
  return view_of(whole + cut(member), cut(member + 1) - cut(member));
}

void Exchange::sum_group(const RoundWork& work) {
  if (!own_sum_) return;
  group_pointers_.clear();
  for (const float* gradient : work.gradients) group_pointers_.push_back(gradient + piece_.begin);
  work.assign.run({group_pointers_, own_sum_, {}, piece_.end - piece_.begin}, {});
}

// What this group adds to a member's part.
const float* Exchange::group_part(const RoundWork& work, int member) const {
  return own_sum_ ? own_sum_ + (cut(member) - piece_.begin) : work.gradients[0] + cut(member);
}

void Exchange::start(const RoundWork& work) {
  const int me = rail_.rank();
  sum_group(work);
  updated_ = false;
  for (int member = 0; member < rail_.size(); ++member) {
    const auto index = static_cast<std::size_t>(member);
    member_sums_[index] = member == me ? group_part(work, me) : incoming_[index];
    if (member == me) continue;
    if (begin() < end())
      sums_.push_back({rail_.receive(view_of(incoming_[index], end() - begin()), member, tag_, sum_text_), member});
    if (cut(member) == cut(member + 1)) continue;
    // Everybody of this group is ready, so nobody reads the old values that the result replaces.
    others_.push_back({rail_.receive(part(work.target, member), member, tag_ + 1, result_text_), member});
    others_.push_back(
        {rail_.send(view_of(group_part(work, member), cut(member + 1) - cut(member)), member, tag_, sum_text_),
         member});
  }
}

bool Exchange::advance(const RoundWork& work) {
  const auto landed = [](Flight& flight) { return flight.request.test(); };
  std::erase_if(sums_, landed);
  if (!sums_.empty()) return false;
  if (!updated_) {
    updated_ = true;
    if (begin() < end()) {
      update(work);
      for (int member = 0; member < rail_.size(); ++member)
        if (member != rail_.rank())
          others_.push_back({rail_.send(part(work.target, rail_.rank()), member, tag_ + 1, result_text_), member});
    }
  }
  std::erase_if(others_, landed);
  return others_.empty();
}

void Exchange::update(const RoundWork& work) {
  work.kernel.run({contributions(work.assign), work.target + begin(), work.states, end() - begin()}, work.step);
}

// What the update sums, in order: one array per node.
std::span<const float* const> Exchange::contributions(const UpdateKernel& assign) {
  if (node_sums_.empty()) return member_sums_;
  node_pointers_.clear();
  for (std::size_t node = 0; node < node_sums_.size(); ++node) {
    group_pointers_.clear();
    for (const int member : group_.rail_nodes[node])
      group_pointers_.push_back(member_sums_[static_cast<std::size_t>(member)]);
    if (group_pointers_.size() == 1) {
      node_pointers_.push_back(group_pointers_[0]);
      continue;
    }
    assign.run({group_pointers_, node_sums_[node], {}, end() - begin()}, {});
    node_pointers_.push_back(node_sums_[node]);
  }
  return node_pointers_;
}

std::vector<int> Exchange::missing() const {
  std::vector<int> ranks;
  for (const Flight& flight : sums_.empty() ? others_ : sums_)
    ranks.push_back(group_.rail_ranks[static_cast<std::size_t>(flight.member)]);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace cohort
