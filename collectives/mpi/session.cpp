#include "collectives/mpi/session.hpp"

#include <cstdlib>

#include "collectives/mpi/call_limit.hpp"
#include "collectives/mpi/communicator.hpp"
#include "collectives/mpi/shared_files.hpp"

namespace cohort::mpi {
namespace {

int to_mpi(ThreadLevel level) {
  switch (level) {
    case ThreadLevel::funneled: return MPI_THREAD_FUNNELED;
    case ThreadLevel::serialized: return MPI_THREAD_SERIALIZED;
    case ThreadLevel::multiple: return MPI_THREAD_MULTIPLE;
  }
  return MPI_THREAD_SINGLE;
}

// "Open MPI 4.1.4" of "Open MPI v4.1.4, package: ...", "MPICH 4.0.2" of "MPICH Version:\t4.0.2\n...".
std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  COHORT_MPI(MPI_Get_library_version(text, &length));
  std::string first(text, static_cast<std::size_t>(length));
  first = first.substr(0, first.find_first_of(",\n"));
  std::string name;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const char c = first[i] == '\t' ? ' ' : first[i];
    const bool version_sign = c == 'v' && i + 1 < first.size() && first[i + 1] >= '0' && first[i + 1] <= '9';
    const bool doubled_space = c == ' ' && !name.empty() && name.back() == ' ';
    if (!version_sign && !doubled_space) name += c;
  }
  const std::string word = " Version:";
  if (const std::size_t place = name.find(word); place != std::string::npos) name.erase(place, word.size());
  return name;
}

}  // namespace

struct Session::State {
  CommunicatorPool pool;
  std::unique_ptr<Communicator> all;
  int memory_leader = 0;
  std::string library;
  ThreadLevel thread_level = ThreadLevel::funneled;
  std::vector<std::string> unlinked;
};

Session::Session(const WorldOptions& options) : state_(std::make_unique<State>()) {
  state_->pool.wait_limit = options.wait_limit;
  state_->pool.message_limit = options.message_limit;
  int started = 0;
  COHORT_MPI(MPI_Initialized(&started));
  COHORT_CHECK(started == 0, "MPI has been started in this process already: there is one World per process");
  int provided = MPI_THREAD_SINGLE;
  {
    const CallLimit limit(options.wait_limit, "started MPI");
    COHORT_MPI(MPI_Init_thread(nullptr, nullptr, to_mpi(options.thread_level), &provided));
  }
  // Before any communicator is made: they inherit it.
  COHORT_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  state_->library = library_name();
  if (provided < to_mpi(options.thread_level))
    COHORT_FAIL(mpi, "{} grants thread level {} where {} is needed", state_->library, provided,
                to_mpi(options.thread_level));
  state_->thread_level = provided >= MPI_THREAD_MULTIPLE     ? ThreadLevel::multiple
                         : provided >= MPI_THREAD_SERIALIZED ? ThreadLevel::serialized
                                                             : ThreadLevel::funneled;
  MPI_Comm raw = MPI_COMM_NULL;
  {
    const CallLimit limit(options.wait_limit, "made its first communicator");
    COHORT_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &raw));
  }
  state_->all = std::make_unique<Communicator>(Comm(raw), state_->pool);
  const std::unique_ptr<Communicator> memory_group = state_->all->split_shared();
  state_->memory_leader = state_->all->rank();
  memory_group->broadcast(view_of(&state_->memory_leader, 1), 0, "the ranks that share memory");
  state_->unlinked = unlink_library_files(*memory_group);
}

Session::~Session() = default;

cohort::Communicator& Session::all() { return *state_->all; }
int Session::memory_leader() const { return state_->memory_leader; }
const std::string& Session::library() const { return state_->library; }
ThreadLevel Session::thread_level() const { return state_->thread_level; }

void Session::finish() {
  restore_names(state_->unlinked);
  state_->all->barrier("the end of the job");
  const CallLimit limit(state_->pool.wait_limit, "ended MPI");
  state_->pool.close();
  COHORT_MPI(MPI_Finalize());
}

void abort_job(int code) noexcept {
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

}  // namespace cohort::mpi
