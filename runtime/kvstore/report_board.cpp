#include "runtime/kvstore/report_board.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

namespace cohort {
namespace {

constexpr int generations = 2;
constexpr int report_tag = 32767;  // keys use the tags below

std::atomic_ref<std::uint64_t> flag(std::uint64_t& step) { return std::atomic_ref<std::uint64_t>(step); }

template <class Record>
View bytes_of(std::vector<Record>& records) {
  return view_of(reinterpret_cast<std::uint8_t*>(records.data()),
                 static_cast<std::int64_t>(records.size() * sizeof(Record)));
}

}  // namespace

// A part holds the rank's own records; the first part goes on with those of all ranks of other groups.
ReportBoard::ReportBoard(World& world, const Group& group) : world_(world), group_(group) {
  const auto ranks = static_cast<std::size_t>(world.size());
  const std::size_t bytes = sizeof(Record) * generations * (group.local_rank == 0 ? 1 + ranks : 1);
  if (group.shared)
    segment_ = NodeSegment::allocate(world, bytes, "step reports");
  else
    memory_ = Buffer::allocate(bytes);
  reports_.resize(ranks);
  // MPI promises nothing about fresh window memory. Records are empty before the agreement that follows.
  if (ok()) std::memset(part(group.local_rank), 0, bytes);

  groups_.resize(group.shared ? static_cast<std::size_t>(world.node_count()) : ranks);
  for (const RankInfo& info : world.ranks())
    groups_[static_cast<std::size_t>(group.shared ? info.node : info.rank)].push_back(info.rank);
  group_index_ = group.shared ? world.node() : world.rank();
  for (const std::vector<int>& members : groups_) messages_.emplace_back(members.size());
}

ReportBoard::Record* ReportBoard::part(int local_rank) const {
  if (memory_) return static_cast<Record*>(memory_->data());
  return segment_ ? reinterpret_cast<Record*>(segment_->part(local_rank)) : nullptr;
}

ReportBoard::Record& ReportBoard::record(int local_rank) const { return part(local_rank)[step_ % generations]; }

ReportBoard::Record* ReportBoard::remote() const {
  return part(0) + generations + (step_ % generations) * static_cast<std::size_t>(world_.size());
}

void ReportBoard::post(const StepReport& report) {
  ++step_;
  sent_ = false;
  Record& mine = record(group_.local_rank);
  mine.loss_sum = report.loss_sum;
  mine.correct = report.correct;
  mine.samples = report.samples;
  mine.stop = report.stop ? 1 : 0;
  flag(mine.step).store(step_, std::memory_order_release);
}

bool ReportBoard::advance() {
  if (complete()) return true;
  for (int rank = 0; rank < group_.local_size(); ++rank)
    if (flag(record(rank).step).load(std::memory_order_acquire) != step_) return false;
  if (groups_.size() > 1) {
    if (group_.local_rank == 0 && !exchange()) return false;
    if (flag(remote()[0].step).load(std::memory_order_acquire) != step_) return false;
  }
  collect();
  return true;
}

// Rank 0 of a group: sends the group's records to every other and stores theirs where all of the group can see them.
bool ReportBoard::exchange() {
  if (flag(remote()[0].step).load(std::memory_order_relaxed) == step_) return true;
  if (!sent_) {
    sent_ = true;
    std::vector<Record>& own = messages_[static_cast<std::size_t>(group_index_)];
    for (int rank = 0; rank < group_.local_size(); ++rank) own[static_cast<std::size_t>(rank)] = record(rank);
    for (int group = 0; group < static_cast<int>(groups_.size()); ++group) {
      if (group == group_index_) continue;
      const View theirs = bytes_of(messages_[static_cast<std::size_t>(group)]);
      flights_.push_back({group_.rail->receive(theirs, group, report_tag, "step reports"), group});
      flights_.push_back({group_.rail->send(bytes_of(own), group, report_tag, "step reports"), group});
    }
  }
  std::erase_if(flights_, [](Flight& flight) { return flight.request.test(); });
  if (!flights_.empty()) return false;
  for (std::size_t group = 0; group < groups_.size(); ++group)
    for (std::size_t i = 0; i < groups_[group].size(); ++i) {
      Record& target = remote()[groups_[group][i]];
      const Record& source = messages_[group][i];
      target.loss_sum = source.loss_sum;
      target.correct = source.correct;
      target.samples = source.samples;
      target.stop = source.stop;
    }
  flag(remote()[0].step).store(step_, std::memory_order_release);
  return true;
}

void ReportBoard::collect() {
  const auto read = [](const Record& record) {
    return StepReport{record.loss_sum, record.correct, record.samples, record.stop != 0};
  };
  if (groups_.size() > 1)
    for (std::size_t rank = 0; rank < reports_.size(); ++rank) reports_[rank] = read(remote()[rank]);
  else
    for (int rank = 0; rank < group_.local_size(); ++rank)
      reports_[static_cast<std::size_t>(rank)] = read(record(rank));
  collected_ = step_;
}

std::vector<int> ReportBoard::missing() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < group_.local_size(); ++rank)
    if (flag(record(rank).step).load(std::memory_order_acquire) != step_)
      ranks.push_back(group_.local_ranks[static_cast<std::size_t>(rank)]);
  if (!ranks.empty()) return ranks;
  for (const Flight& flight : flights_) ranks.push_back(groups_[static_cast<std::size_t>(flight.group)][0]);
  if (ranks.empty() && group_.local_rank != 0) ranks.push_back(group_.local_ranks[0]);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

void ReportBoard::close() {
  if (segment_) segment_->close();
  segment_.reset();
  memory_.reset();
}

}  // namespace cohort
