#include "runtime/kvstore/rounds.hpp"

#include <algorithm>
#include <cstring>

namespace cohort {

Rounds::Rounds(World& world, ReportBoard& board)
    : world_(world), board_(board), assign_(make_cpu_update("assign")), kernel_(assign_.get()) {}

Rounds::~Rounds() { abandon(nullptr); }

Slot& Rounds::add(std::unique_ptr<Slot> slot) {
  slot->id = static_cast<int>(slots_.size());
  slots_.push_back(std::move(slot));
  active_.reserve(slots_.size());
  return *slots_.back();
}

void Rounds::use_kernel(const UpdateKernel* kernel) {
  kernel_ = kernel ? kernel : assign_.get();
  updater_ = nullptr;
}

void Rounds::use_updater(Updater updater) {
  kernel_ = assign_.get();
  updater_ = std::move(updater);
}

void Rounds::launch(Slot& slot, const UpdateStep& step) {
  slot.step = step;
  slot.stage = Slot::Stage::gathering;
  slot.ranks_ready = 0;
  ++slot.launched;
  slot.arena->ready(slot.arena->group().local_rank, slot.index).store(slot.launched, std::memory_order_release);
  // A queued push launches from inside progress(), where the slot is listed already.
  if (advancing_) return;
  const auto before = [](const Slot* a, const Slot* b) { return a->id < b->id; };
  active_.insert(std::upper_bound(active_.begin(), active_.end(), &slot, before), &slot);
}

void Rounds::progress() {
  if (advancing_) return;
  advancing_ = true;
  try {
    std::erase_if(active_, [this](Slot* slot) { return advance(*slot); });
    board_.advance();
  } catch (...) {
    advancing_ = false;
    abandon(std::current_exception());
    throw;
  }
  advancing_ = false;
}

// True once no round of the slot is left.
bool Rounds::advance(Slot& slot) {
  using Stage = Slot::Stage;
  while (slot.stage != Stage::idle) {
    if (slot.stage == Stage::gathering) {
      if (!all_ready(slot)) return false;
      start_update(slot);
      slot.stage = Stage::exchanging;
    }
    if (slot.stage == Stage::exchanging) {
      if (!exchange(slot)) return false;
      raise_done(slot);
      slot.stage = Stage::finishing;
    }
    if (!owners_done(slot) || !updater_done(slot)) return false;
    complete(slot);
  }
  return true;
}

bool Rounds::all_ready(Slot& slot) const {
  const auto ranks = static_cast<std::size_t>(slot.arena->group().local_size());
  for (; slot.ranks_ready < ranks; ++slot.ranks_ready)
    if (slot.arena->ready(static_cast<int>(slot.ranks_ready), slot.index).load(std::memory_order_acquire) <
        slot.launched)
      return false;
  return true;
}

RoundWork Rounds::work_for(const Slot& slot, const OwnPiece& piece) {
  const Arena& arena = *slot.arena;
  states_.clear();
  for (const auto& state : arena.states()) states_.push_back(static_cast<float*>(state->data()) + piece.state_offset);
  return {*kernel_, *assign_, slot.step, arena.gradients(), updater_ ? arena.sums() : arena.weights(), states_};
}

void Rounds::start_update(Slot& slot) {
  for (OwnPiece& own : slot.pieces) {
    const RoundWork work = work_for(slot, own);
    if (own.exchange) {
      own.exchange->start(work);
      continue;
    }
    contributions_.clear();
    for (const float* gradient : work.gradients) contributions_.push_back(gradient + own.piece.begin);
    work.kernel.run({contributions_, work.target + own.piece.begin, work.states, own.piece.end - own.piece.begin},
                    work.step);
  }
}

bool Rounds::exchange(Slot& slot) {
  bool over = true;
  for (OwnPiece& own : slot.pieces)
    if (own.exchange && !own.exchange->advance(work_for(slot, own))) over = false;
  return over;
}

void Rounds::raise_done(Slot& slot) {
  if (!slot.pieces.empty())
    slot.arena->done(slot.arena->group().local_rank, slot.index).store(slot.launched, std::memory_order_release);
}

bool Rounds::owners_done(const Slot& slot) const {
  return std::all_of(slot.owners.begin(), slot.owners.end(), [&](int owner) {
    return slot.arena->done(owner, slot.index).load(std::memory_order_acquire) >= slot.launched;
  });
}

// Rank 0 of the group applies the function to the one copy of the weights.
bool Rounds::updater_done(Slot& slot) {
  if (!updater_) return true;
  const auto applied = slot.arena->applied(slot.index);
  if (applied.load(std::memory_order_acquire) >= slot.launched) return true;
  if (slot.arena->group().local_rank != 0) return false;
  Context& context = slot.weight.context();
  float* const weights = slot.arena->weights() + slot.offset;
  // Views without the events of rounds: those would wait for this very call.
  const auto view = [&](float* data) {
    return NDArray::wrap(context, Buffer::wrap(data, slot.bytes(), slot.arena), 0, slot.shape);
  };
  const NDArray received = view(slot.arena->sums() + slot.offset);
  NDArray stored = view(weights);
  updater_(slot.key, received, stored);
  received.wait_to_write();
  COHORT_CHECK(stored.shape() == slot.shape && stored.dtype() == DType::f32,
               "the updater of key '{}' left an array of shape {}", slot.name, to_string(stored.shape()));
  // The function may have given `stored` another array instead of changing it.
  if (const float* result = stored.data(); result != weights) std::memcpy(weights, result, slot.bytes());
  applied.store(slot.launched, std::memory_order_release);
  return true;
}

// Fills the arrays that were pulled in this round, then enters the next one where a push waits for that.
void Rounds::complete(Slot& slot) {
  std::erase_if(slot.pulls, [&](const PendingPull& pull) {
    if (pull.round != slot.launched) return false;
    // The array's own event is this round's end: its memory is taken without waiting.
    std::memcpy(static_cast<std::byte*>(pull.out.buffer()->data()) + pull.out.byte_offset(), slot.weight_data(),
                slot.bytes());
    count_copy(slot.bytes());
    return true;
  });
  slot.stage = Slot::Stage::idle;
  slot.clock->completed.store(slot.launched, std::memory_order_release);
  if (slot.queue.empty()) return;
  const QueuedPush next = std::move(slot.queue.front());
  slot.queue.pop_front();
  if (next.values) std::memcpy(slot.gradient_data(), next.values->data(), slot.bytes());
  launch(slot, next.step);
}

}  // namespace cohort
