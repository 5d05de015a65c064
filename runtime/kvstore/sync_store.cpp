#include "runtime/kvstore/sync_store.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "kernels/base/log.hpp"
#include "runtime/kvstore/verb.hpp"

namespace cohort {
namespace {

// What must be equal over ranks for an optimizer to be one: numbers, multipliers, and the schedule by samples of it.
std::string optimizer_text(const Optimizer& optimizer) {
  const OptimizerOptions& o = optimizer.options();
  std::string text = fmt::format("{} learning_rate {} momentum {} weight_decay {} rescale_grad {} clip_gradient {} {}",
                                 o.name, o.learning_rate, o.momentum, o.weight_decay, o.rescale_grad, o.clip_gradient,
                                 o.decay_by_name ? "decay by name" : "decay for all");
  for (const auto& [name, factor] : o.lr_mult) text += fmt::format("\nlr_mult of {}: {}", name, factor);
  for (const auto& [name, factor] : o.wd_mult) text += fmt::format("\nwd_mult of {}: {}", name, factor);
  if (o.schedule)
    for (std::uint64_t update = 1; update < 2'000'000; update = update * 5 / 4 + 1)
      text += fmt::format("\nrate of update {}: {}", update, o.schedule->rate(o.learning_rate, update));
  return text;
}

Group wanted_group(World& world, const StoreOptions& options) {
  if (options.servers_per_node == 0 || options.servers_per_node < -1)
    throw_usage("{} servers per node: give 1 or more, or -1 for every rank", options.servers_per_node);
  std::map<int, int> node_sizes;
  for (const RankInfo& info : world.ranks()) ++node_sizes[info.node];
  for (const auto& [node, size] : node_sizes)
    if (options.servers_per_node > size)
      throw_usage("{} servers per node, but node {} has {} rank{}", options.servers_per_node, node, size,
                  size == 1 ? "" : "s");
  return options.private_weights ? make_rank_group(world) : make_node_group(world, options.servers_per_node);
}

}  // namespace

SyncStore::SyncStore(World& world, Context& context, std::string_view name, const StoreOptions& options)
    : world_(world), context_(context), name_(name), private_weights_(options.private_weights) {
  world.require_same("kv-store", fmt::format("{} with {} servers per node{}", name, options.servers_per_node,
                                             options.private_weights ? ", private weights" : ""));
  group_ = wanted_group(world, options);
  board_ = std::make_unique<ReportBoard>(world, group_);
  std::int32_t fits = board_->ok() ? 1 : 0;
  world.all().allreduce(view_of(&fits, 1), ReduceOp::min, "room for step reports");
  if (fits == 0) {
    board_->close();
    board_.reset();
    group_ = make_rank_group(world);
    board_ = std::make_unique<ReportBoard>(world, group_);
  }
  rounds_ = std::make_unique<Rounds>(world, *board_);
}

SyncStore::~SyncStore() = default;

bool SyncStore::is_capable(std::string_view capability) const {
  if (capability == "optimizer") return true;
  throw_usage("unknown capability '{}' of a kv-store; there is: optimizer", capability);
}

void SyncStore::settle() {
  post_report();
  rounds_->wait_all();
}

void SyncStore::init(std::span<const Key> keys, std::span<const NDArray> values) {
  in_verb("init", [&] {
    settle();
    const std::vector<std::size_t> order = agree_on_keys(world_, keys, values, table_.objection(keys, values));
    if (order.empty()) return;
    std::vector<std::int64_t> counts;
    counts.reserve(order.size());
    for (const std::size_t i : order) counts.push_back(values[i].count());
    const std::shared_ptr<Arena> arena = make_arena(counts);
    arenas_.push_back(arena);
    Group& group = fallback_ && &arena->group() == fallback_.get() ? *fallback_ : group_;
    for (std::size_t place = 0; place < order.size(); ++place) {
      const std::size_t i = order[place];
      table_.add(keys[i]);
      Slot& slot = rounds_->add(
          std::make_unique<Slot>(context_, *rounds_, keys[i], values[i].shape(), arena, static_cast<int>(place)));
      slot.place_pieces(group);
    }
    // Everybody's first touch comes before the first values.
    if (group.shared) world_.node_group().barrier("first touch of the weights");
    if (world_.rank() == 0)
      for (std::size_t place = 0; place < order.size(); ++place)
        std::memcpy(slot(keys[order[place]]).weight.data(), values[order[place]].data(),
                    slot(keys[order[place]]).bytes());
    spread_weights(*arena);
    prepare_arena(*arena);
    world_.all().barrier("kv-store init");
  });
}

// The wanted placement, or memory of every rank's own where a node lacks the room.
std::shared_ptr<Arena> SyncStore::make_arena(std::span<const std::int64_t> counts) {
  if (group_.shared) {
    if (auto arena = Arena::allocate(world_, group_, KeyLayout(counts, group_.owners))) return arena;
  }
  const bool wanted = private_weights_;
  if (group_.shared && !fallback_) fallback_ = std::make_unique<Group>(make_rank_group(world_));
  Group& group = group_.shared ? *fallback_ : group_;
  auto arena = Arena::allocate_private(group, KeyLayout(counts, 1));
  if (!wanted && world_.node_rank() == 0)
    log_warning(fmt::format(
        "too little memory shared by the ranks of this node: every rank keeps its own {:.1f} MB of weights (slower)",
        static_cast<double>(arena->layout().elements()) * sizeof(float) / 1e6));
  return arena;
}

// Rank 0's weights reach the other groups; ranks of its own group see them after the barrier that follows.
void SyncStore::spread_weights(const Arena& arena) {
  const Group& group = arena.group();
  if (group.rail && group.local_rank == 0)
    group.rail->broadcast(view_of(arena.weights(), arena.layout().elements()), 0, "first weights");
}

void SyncStore::prepare_arena(Arena& arena) {
  arena.set_state_count(optimizer_ ? optimizer_->state_count() : 0);
  if (has_updater_ && !arena.allocate_sums(world_))
    COHORT_FAIL(memory, "no shared memory for the sums that an updater function needs");
}

void SyncStore::set_optimizer(Optimizer optimizer) {
  in_verb("set_optimizer", [&] {
    settle();
    world_.require_same("optimizer", optimizer_text(optimizer));
    optimizer_ = std::make_unique<Optimizer>(std::move(optimizer));
    has_updater_ = false;
    rounds_->use_kernel(&optimizer_->kernel());
    for (const auto& arena : arenas_) prepare_arena(*arena);
  });
}

void SyncStore::set_updater(Updater updater) {
  in_verb("set_updater", [&] {
    settle();
    world_.require_same("optimizer", updater ? "an updater function" : "none");
    optimizer_.reset();
    has_updater_ = updater != nullptr;
    if (has_updater_)
      rounds_->use_updater(std::move(updater));
    else
      rounds_->use_kernel(nullptr);
    for (const auto& arena : arenas_) prepare_arena(*arena);
  });
}

void SyncStore::barrier() {
  in_verb("barrier", [&] {
    settle();
    world_.all().barrier("kv-store barrier");
  });
}

void SyncStore::wait_all() {
  in_verb("wait_all", [&] { settle(); });
}

void SyncStore::set_report(const StepReport& report) {
  if (!board_->complete()) wait_all();
  report_ = report;
  report_waits_ = true;
}

void SyncStore::post_report() {
  if (!report_waits_) return;
  report_waits_ = false;
  board_->post(report_);
}

std::string SyncStore::weights_placement() const {
  if (!group_.shared || fallback_) return "rank";
  return "node" + (arenas_.empty() ? std::string() : " (" + arenas_.back()->kind() + ")");
}

void SyncStore::close() {
  in_verb("close", [&] {
    settle();
    rounds_->abandon(nullptr);
    for (const auto& arena : arenas_) arena->close();
    board_->close();
    group_.rail.reset();
    fallback_.reset();
  });
}

}  // namespace cohort
