// The synchronous store: one update per key and round, from the sum over all ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/kvstore/group.hpp"
#include "runtime/kvstore/key_table.hpp"
#include "runtime/kvstore/kvstore.hpp"
#include "runtime/kvstore/report_board.hpp"
#include "runtime/kvstore/rounds.hpp"

namespace cohort {

// Serves `local` (a world of one rank) and `dist_sync`. Weights lie once per node in memory its ranks share, each rank
// updating its slice; where that is refused, every rank keeps its own, with the same bits. Neither copies nor moves.
class SyncStore final : public KVStore {
 public:
  // Collective.
  SyncStore(World& world, Context& context, std::string_view name, const StoreOptions& options);
  ~SyncStore() override;

  const std::string& type() const override { return name_; }
  int rank() const override { return world_.rank(); }
  int num_workers() const override { return world_.size(); }
  bool is_capable(std::string_view capability) const override;

  void init(std::span<const Key> keys, std::span<const NDArray> values) override;
  void push(std::span<const Key> keys, std::span<const std::vector<NDArray>> values, int priority) override;
  void pull(std::span<const Key> keys, std::span<const std::vector<NDArray>> outs, int priority) override;
  void pushpull(std::span<const Key> keys, std::span<const std::vector<NDArray>> values,
                std::span<const std::vector<NDArray>> outs, int priority) override;
  using KVStore::init;
  using KVStore::pull;
  using KVStore::push;
  using KVStore::pushpull;

  void set_optimizer(Optimizer optimizer) override;
  void set_updater(Updater updater) override;
  Optimizer* optimizer() override { return optimizer_.get(); }

  void barrier() override;
  NDArray gradient(const Key& key) override { return slot(key).gradient; }
  NDArray weight(const Key& key) override { return slot(key).weight; }
  void wait_all() override;

  void set_report(const StepReport& report) override;
  std::vector<StepReport> reports() const override { return board_->reports(); }

  std::uint64_t copied_bytes() const override { return rounds_->copied_bytes(); }
  std::string weights_placement() const override;
  void close() override;

 private:
  Slot& slot(const Key& key) { return *rounds_->slots()[static_cast<std::size_t>(table_.slot(key))]; }
  // Runs a verb of the interface; errors say which.
  template <class Body>
  auto in_verb(const char* verb, const Body& body);
  void settle();  // before a collective verb: ends this rank's rounds

  std::shared_ptr<Arena> make_arena(std::span<const std::int64_t> counts);
  void spread_weights(const Arena& arena);
  void prepare_arena(Arena& arena);

  void find_slots(std::span<const Key> keys, std::span<const std::vector<NDArray>> arrays);
  void push_found(std::span<const std::vector<NDArray>> values);
  void pull_found(std::span<const std::vector<NDArray>> outs);
  void push_slot(Slot& slot, std::span<const NDArray> values);
  void pull_slot(Slot& slot, const NDArray& out);
  void sum_values(const Slot& slot, std::span<const NDArray> values, float* target);
  void post_report();

  World& world_;
  Context& context_;
  std::string name_;
  bool private_weights_;
  Group group_;                      // as wanted
  std::unique_ptr<Group> fallback_;  // groups of one, for init calls that shared memory has no room for
  std::unique_ptr<ReportBoard> board_;
  std::unique_ptr<Rounds> rounds_;
  KeyTable table_;
  std::vector<std::shared_ptr<Arena>> arenas_;
  std::unique_ptr<Optimizer> optimizer_;
  bool has_updater_ = false;

  StepReport report_;
  bool report_waits_ = false;  // set, and not posted yet
  std::uint64_t mark_ = 0;     // counts calls that name keys
  std::vector<Slot*> named_;   // the slots of the current call
  bool repeated_ = false;      // whether it names one twice
  std::vector<const float*> parts_;
};

}  // namespace cohort
