#include "collectives/world.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>

#include "collectives/mpi/session.hpp"
#include "collectives/rank_table.hpp"
#include "collectives/same_text.hpp"
#include "collectives/solo/communicator.hpp"
#include "kernels/base/log.hpp"

namespace cohort {

namespace {

void check_options(const WorldOptions& options) {
  COHORT_CHECK(options.wait_limit.count() > 0, "the longest wait must be positive, not {} ms",
               options.wait_limit.count());
  COHORT_CHECK(options.message_limit > 0 && options.message_limit <= std::numeric_limits<std::int32_t>::max(),
               "a message limit of {} elements does not fit MPI's counts", options.message_limit);
}

void check_singleton(const WorldOptions& options, int size) {
  if (size > 1 || options.promised_tasks <= 1 || options.allow_singleton) return;
  throw_usage(
      "{}={} but MPI sees 1 process: start with srun --mpi=pmix or mpirun; to run alone on purpose add "
      "--allow-singleton",
      options.promised_by, options.promised_tasks);
}

std::string_view to_string(ThreadLevel level) {
  switch (level) {
    case ThreadLevel::funneled: return "funneled";
    case ThreadLevel::serialized: return "serialized";
    case ThreadLevel::multiple: return "multiple";
  }
  return "unknown";
}

}  // namespace

struct World::State {
  WorldOptions options;
  std::unique_ptr<mpi::Session> session;  // null: solo
  std::unique_ptr<Communicator> solo;
  std::unique_ptr<Communicator> node_group;
  std::vector<RankInfo> ranks;
  int rank = 0;
  int node_count = 1;

  void start_solo();
  void start_mpi();
  void require_same(std::string_view what, const std::string& text);

  Communicator& all() { return session ? session->all() : *solo; }
  std::string name(int other) const {
    const RankInfo& info = ranks.at(static_cast<std::size_t>(other));
    return rank_name(other, info.host, info.pid);
  }
  const RankInfo& me() const { return ranks[static_cast<std::size_t>(rank)]; }
};

void World::State::start_solo() {
  solo = std::make_unique<solo::Communicator>();
  node_group = std::make_unique<solo::Communicator>();
  const RankRecord mine = local_record();
  ranks = make_rank_table(std::span(&mine, 1), options.ranks_per_node);
}

void World::State::start_mpi() {
  session = std::make_unique<mpi::Session>(options);
  Communicator& group = session->all();
  RankRecord mine = local_record();
  mine.memory_leader = session->memory_leader();
  mine.library = session->library();
  rank = group.rank();
  set_process_identity({rank, group.size(), mine.host, mine.pid});
  check_singleton(options, group.size());
  const std::vector<RankRecord> records = gather_records(group, mine);
  const std::string warning = check_same_program(records);
  if (!warning.empty() && rank == 0) log_warning(warning);
  ranks = make_rank_table(records, {});
  require_same("command line", options.purpose);
  require_same("the sizes of the pretended nodes", fmt::format("{}", fmt::join(options.ranks_per_node, ",")));
  if (!options.ranks_per_node.empty()) ranks = make_rank_table(records, options.ranks_per_node);
  for (const RankInfo& info : ranks) node_count = std::max(node_count, info.node + 1);
  node_group = group.split(me().node, rank);
}

void World::State::require_same(std::string_view what, const std::string& text) {
  const std::optional<Disagreement> found = find_disagreement(all(), text);
  if (!found) return;
  throw_usage("{} must be the same on all ranks: {}", what, explain(*found, name(0), name(found->rank)));
}

World::World(const WorldOptions& options) : state_(std::make_unique<State>()) {
  check_options(options);
  state_->options = options;
  try {
    if (options.solo) {
      state_->start_solo();
    } else {
      state_->start_mpi();
    }
  } catch (const Error& error) {
    // Wrong usage is found by every rank alike, so all of them can leave in good order.
    if (error.kind() == ErrorKind::usage) {
      if (state_->rank == 0 && options.say_usage) options.say_usage(error);
      if (state_->session) state_->session->finish();
    }
    throw;
  }
}

World::~World() = default;

int World::rank() const { return state_->rank; }
int World::size() const { return static_cast<int>(state_->ranks.size()); }
int World::node() const { return state_->me().node; }
int World::node_count() const { return state_->node_count; }
int World::node_rank() const { return state_->me().node_rank; }
int World::node_size() const { return state_->node_group->size(); }
bool World::solo() const { return state_->session == nullptr; }
const std::vector<RankInfo>& World::ranks() const { return state_->ranks; }
const WorldOptions& World::options() const { return state_->options; }
Communicator& World::all() { return state_->all(); }
Communicator& World::node_group() { return *state_->node_group; }
std::uint64_t World::mpi_calls() const { return mpi::calls_made(); }

std::string World::describe(int rank) const { return state_->name(rank); }

void World::finish() {
  if (state_->session) state_->session->finish();
}

void World::abort(int code) noexcept {
  std::fflush(nullptr);
  if (state_->session) mpi::abort_job(code);
  std::_Exit(code);
}

void World::require_same(std::string_view what, const std::string& text) { state_->require_same(what, text); }

std::string describe_library(const World& world) {
  const mpi::Session* const session = world.state_->session.get();
  if (session == nullptr) return "no MPI";
  return fmt::format("{}, thread level {}", session->library(), to_string(session->thread_level()));
}

}  // namespace cohort
