// How rounds are waited for, and what is said when one does not end.
#include <algorithm>
#include <limits>

#include "collectives/wait.hpp"
#include "runtime/kvstore/rounds.hpp"

namespace cohort {
namespace {

constexpr std::size_t most_named = 8;  // ranks in one message

std::string names_of(const World& world, const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size() && i < most_named; ++i) text += (i ? ", " : "") + world.describe(ranks[i]);
  if (ranks.size() > most_named) text += fmt::format(" and {} more", ranks.size() - most_named);
  return text;
}

}  // namespace

void RoundEvent::wait() {
  if (!done()) clock_->rounds->wait_quietly(*clock_, round());
}

template <class Over>
void Rounds::wait(const Over& over) {
  COHORT_CHECK(!advancing_, "an updater function waits for a round of the store that runs it");
  try {
    wait_until(
        [&] {
          progress();
          return over();
        },
        world_.options().wait_limit, [&] { return describe_wait(); });
  } catch (...) {
    abandon(std::current_exception());
    throw;
  }
}

void Rounds::wait_all() {
  throw_if_failed();
  wait([&] { return active_.empty() && board_.complete(); });
}

void Rounds::wait_quietly(const RoundClock& clock, std::uint64_t round) noexcept {
  try {
    wait([&] { return clock.completed.load(std::memory_order_relaxed) >= round; });
  } catch (...) {
    // wait() has left the error in the arrays.
  }
}

Event Rounds::end_of_round(Slot& slot) {
  std::shared_ptr<RoundEvent>& event = slot.events[slot.pushed % slot.events.size()];
  if (!event || (event->round() != slot.pushed && event.use_count() > 1))
    event = std::make_shared<RoundEvent>(slot.clock);
  event->renew(slot.pushed);
  return event;
}

void Rounds::throw_if_failed() const {
  if (failure_) std::rethrow_exception(failure_);
}

void Rounds::abandon(const std::exception_ptr& why) noexcept {
  if (why && !failure_) failure_ = why;
  active_.clear();
  for (const auto& slot : slots_) {
    if (why && slot->busy()) {
      slot->weight.buffer()->set_poison(why);
      slot->gradient.buffer()->set_poison(why);
      for (const PendingPull& pull : slot->pulls) pull.out.buffer()->set_poison(why);
    }
    slot->pulls.clear();
    slot->queue.clear();
    slot->stage = Slot::Stage::idle;
    slot->clock->completed.store(std::numeric_limits<std::uint64_t>::max(), std::memory_order_release);
  }
}

std::string Rounds::describe_wait() const {
  const std::string limit = fmt::format("{} s", static_cast<double>(world_.options().wait_limit.count()) / 1000);
  if (!active_.empty()) return fmt::format("waited {} for {}", limit, describe_wait(*active_.front()));
  return fmt::format("waited {} for the report of step {} from {}", limit, board_.step(),
                     names_of(world_, board_.missing()));
}

std::string Rounds::describe_wait(const Slot& slot) const {
  const Arena& arena = *slot.arena;
  const std::vector<int>& ranks = arena.group().local_ranks;
  std::vector<int> missing;
  std::string what = "has not pushed it";
  if (slot.stage == Slot::Stage::gathering) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      if (arena.ready(static_cast<int>(rank), slot.index).load(std::memory_order_acquire) < slot.launched)
        missing.push_back(ranks[rank]);
  } else if (slot.stage == Slot::Stage::exchanging) {
    what = slot.arena->group().shared
               ? "of another node has sent or taken no part of it; has all of that node pushed it?"
               : "has sent or taken no part of it";
    for (const OwnPiece& own : slot.pieces)
      if (own.exchange)
        for (const int rank : own.exchange->missing()) missing.push_back(rank);
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  } else {
    what = "has not updated its part of it";
    for (const int owner : slot.owners)
      if (arena.done(owner, slot.index).load(std::memory_order_acquire) < slot.launched)
        missing.push_back(ranks[static_cast<std::size_t>(owner)]);
    if (missing.empty()) missing.push_back(ranks[0]);  // which runs the updater function
  }
  // A whole job that was stopped and goes on: the clock ran out before anybody looked again.
  if (missing.empty()) return fmt::format("key '{}', round {}: every rank has come by now", slot.name, slot.launched);
  return fmt::format("key '{}', round {}: {} {}", slot.name, slot.launched, names_of(world_, missing), what);
}

}  // namespace cohort
