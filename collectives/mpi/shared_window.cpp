#include "collectives/mpi/shared_window.hpp"

#include <numeric>
#include <vector>

#include "collectives/mpi/call_limit.hpp"
#include "collectives/mpi/communicator.hpp"

namespace cohort::mpi {
namespace {

constexpr std::size_t page = 4096;

std::size_t padded(std::size_t bytes) { return (bytes + page - 1) / page * page; }

std::byte* align_up(void* address) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  return static_cast<std::byte*>(address) + (page - value % page) % page;
}

class SharedWindow final : public NodeSegment {
 public:
  SharedWindow(Communicator& group, Win window, std::span<const std::size_t> bytes)
      : group_(group), window_(std::move(window)), bytes_(bytes.begin(), bytes.end()) {
    COHORT_MPI(MPI_Win_set_errhandler(window_.get(), MPI_ERRORS_RETURN));
    for (int rank = 0; rank < group.size(); ++rank) {
      MPI_Aint size = 0;
      int unit = 0;
      void* base = nullptr;
      COHORT_MPI(MPI_Win_shared_query(window_.get(), rank, &size, &unit, &base));
      parts_.push_back(align_up(base));
    }
    group_.window_bytes += total();
  }
  // Freeing is collective: a window that was not closed is left to the library.
  ~SharedWindow() override { window_.release(); }

  std::byte* part(int node_rank) const override { return parts_.at(static_cast<std::size_t>(node_rank)); }
  std::size_t part_bytes(int node_rank) const override { return bytes_.at(static_cast<std::size_t>(node_rank)); }
  const std::string& kind() const override { return kind_; }
  void close() override {
    if (!window_) return;
    group_.barrier("the release of a shared window");
    const CallLimit limit(group_.wait_limit(), "released a shared window");
    window_.reset();
    group_.window_bytes -= total();
  }

 private:
  std::size_t total() const { return std::accumulate(bytes_.begin(), bytes_.end(), std::size_t{0}); }

  Communicator& group_;
  Win window_;
  std::vector<std::size_t> bytes_;
  std::vector<std::byte*> parts_;
  std::string kind_ = "mpi window";
};

}  // namespace

std::size_t open_window_bytes(const cohort::Communicator& group) {
  return dynamic_cast<const Communicator&>(group).window_bytes;
}

std::unique_ptr<NodeSegment> make_shared_window(cohort::Communicator& group, std::span<const std::size_t> bytes) {
  auto& ours = dynamic_cast<Communicator&>(group);
  ours.barrier("a shared window");
  // One page more than asked for, so that a part can begin on a page wherever the library puts it: mappings begin on a
  // page in every process, so all of them move it by the same distance.
  const auto size = static_cast<MPI_Aint>(padded(bytes[static_cast<std::size_t>(ours.rank())]) + page);
  MPI_Win raw = MPI_WIN_NULL;
  void* base = nullptr;
  const CallLimit limit(ours.wait_limit(), "allocated a shared window");
  // A rank that fails alone leaves the others inside the call: it has to end the job.
  COHORT_MPI(MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, ours.handle(), &base, &raw));
  return std::make_unique<SharedWindow>(ours, Win(raw), bytes);
}

}  // namespace cohort::mpi
