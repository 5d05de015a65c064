// The rounds of all keys: what each waits for, and this rank's part of the work.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kvstore/arena.hpp"
#include "runtime/kvstore/exchange.hpp"
#include "runtime/kvstore/kvstore.hpp"
#include "runtime/kvstore/report_board.hpp"

namespace cohort {

class Rounds;

// How many rounds of a key are over at this rank. Events share it, since they may outlive the store.
struct RoundClock {
  std::atomic<std::uint64_t> completed{0};
  Rounds* rounds = nullptr;
};

// The end of one round of one key. Waiting drives the rounds of all keys; it belongs to the store's thread.
class RoundEvent final : public EventState {
 public:
  explicit RoundEvent(std::shared_ptr<RoundClock> clock) : clock_(std::move(clock)) {}
  // Makes it the end of another round; nobody else may hold it.
  void renew(std::uint64_t round) { round_.store(round, std::memory_order_relaxed); }
  std::uint64_t round() const { return round_.load(std::memory_order_relaxed); }
  bool done() const override { return clock_->completed.load(std::memory_order_acquire) >= round(); }
  void wait() override;
  bool driven_by_caller() const override { return true; }
  const RoundClock* clock() const { return clock_.get(); }

 private:
  std::shared_ptr<RoundClock> clock_;
  std::atomic<std::uint64_t> round_{0};
};

// A part of a key that this rank owns.
struct OwnPiece {
  Piece piece;
  std::int64_t state_offset = 0;       // in the arena's state arrays, of the first element that this rank updates
  std::unique_ptr<Exchange> exchange;  // null where there is one group only: then this rank updates all of it
};

// A push of a key whose round before is not over yet.
struct QueuedPush {
  std::shared_ptr<Buffer> values;  // null: they lie in the store's own gradient array
  UpdateStep step;
};

struct PendingPull {
  std::uint64_t round;
  NDArray out;
};

// One key of the store.
struct Slot {
  enum class Stage { idle, gathering, exchanging, finishing };

  Slot(Context& context, Rounds& rounds, const Key& slot_key, const Shape& slot_shape,
       const std::shared_ptr<Arena>& slot_arena, int index_in_arena);
  // Splits this rank's pieces and gives them state; messages of `rail` take the next tags.
  void place_pieces(Group& group);

  std::uint64_t completed() const { return clock->completed.load(std::memory_order_relaxed); }
  bool busy() const { return pushed != completed(); }
  std::size_t bytes() const { return static_cast<std::size_t>(count) * sizeof(float); }
  float* gradient_data() const { return arena->own_gradients() + offset; }
  const float* weight_data() const { return arena->weights() + offset; }

  int id = 0;  // among all slots
  Key key;
  std::string name;
  Shape shape;
  std::int64_t count;
  std::shared_ptr<Arena> arena;
  int index;  // in the arena
  std::int64_t offset;
  std::vector<OwnPiece> pieces;
  std::vector<int> owners;   // ranks of the group that own a part of this key
  NDArray gradient, weight;  // as users hold them

  std::shared_ptr<RoundClock> clock;
  std::uint64_t pushed = 0;    // rounds this rank has asked for
  std::uint64_t launched = 0;  // rounds this rank has entered, at most one more than are over
  Stage stage = Stage::idle;
  std::size_t ranks_ready = 0;  // of the group, in the current round
  UpdateStep step;
  std::deque<QueuedPush> queue;
  std::vector<PendingPull> pulls;
  std::array<std::shared_ptr<RoundEvent>, 2> events;  // of the last two rounds, used again when nobody holds them
  std::uint64_t mark = 0;                             // the last call that named this key
};

// A rank enters a round by raising its flag; the owners of the key's slices process it when all ranks of the group have
// entered; everybody reads the new weights once all owners are done. Nobody writes weights that another rank may read:
// entering a round says that this rank does not read the old ones any more. Used from one thread; nothing but a wait
// blocks. Neither copies nor moves.
class Rounds {
 public:
  Rounds(World& world, ReportBoard& board);
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;
  ~Rounds();

  // The order of adding is the order of work.
  Slot& add(std::unique_ptr<Slot> slot);
  const std::vector<std::unique_ptr<Slot>>& slots() const { return slots_; }

  // What rounds do with the sum, set between rounds: a kernel, or a function (which then replaces it). Null: assign.
  void use_kernel(const UpdateKernel* kernel);
  void use_updater(Updater updater);
  const UpdateKernel& assign() const { return *assign_; }

  // Enters the next round of a slot that is idle; its values lie in the gradient array.
  void launch(Slot& slot, const UpdateStep& step);
  // The end of the last round that was pushed.
  Event end_of_round(Slot& slot);
  // Does all work that is ready.
  void progress();
  // Inside progress(), as an updater function is.
  bool advancing() const { return advancing_; }
  // Until every round entered is over and every report posted is answered. Throws Error(timeout) naming what is
  // missing.
  void wait_all();
  // For events: an error poisons what the rounds would have written.
  void wait_quietly(const RoundClock& clock, std::uint64_t round) noexcept;

  void count_copy(std::size_t bytes) { copied_bytes_ += bytes; }
  std::uint64_t copied_bytes() const { return copied_bytes_; }
  // Rethrows the error that ended the rounds, if any.
  void throw_if_failed() const;
  // Ends every round and event, unfinished ones with poison where `why` is not null.
  void abandon(const std::exception_ptr& why) noexcept;

 private:
  template <class Over>
  void wait(const Over& over);
  bool advance(Slot& slot);
  bool all_ready(Slot& slot) const;
  void start_update(Slot& slot);
  bool exchange(Slot& slot);
  void raise_done(Slot& slot);
  bool owners_done(const Slot& slot) const;
  bool updater_done(Slot& slot);
  void complete(Slot& slot);
  RoundWork work_for(const Slot& slot, const OwnPiece& piece);
  std::string describe_wait() const;
  std::string describe_wait(const Slot& slot) const;

  World& world_;
  ReportBoard& board_;
  std::unique_ptr<UpdateKernel> assign_;
  const UpdateKernel* kernel_;
  Updater updater_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> active_;  // in rounds, in the order of slots
  std::vector<const float*> contributions_;
  std::vector<float*> states_;
  bool advancing_ = false;
  std::uint64_t copied_bytes_ = 0;
  std::exception_ptr failure_;
};

}  // namespace cohort
