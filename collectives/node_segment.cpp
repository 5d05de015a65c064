#include "collectives/node_segment.hpp"

#include <sys/statvfs.h>

#include <numeric>

#include "collectives/file_segment.hpp"
#include "collectives/mpi/shared_window.hpp"
#include "kernels/base/log.hpp"

namespace cohort {
namespace {

std::vector<std::size_t> gather_sizes(Communicator& group, std::size_t bytes, const std::string& what) {
  const auto mine = static_cast<std::int64_t>(bytes);
  std::vector<std::int64_t> all(static_cast<std::size_t>(group.size()));
  group.allgather(view_of(&mine, 1), view_of(all.data(), group.size()), what);
  return {all.begin(), all.end()};
}

// Whether a window of `bytes` may be made now. Asked of the file system before, since a touch beyond its end is a fatal
// signal and not an error. It counts only pages that were touched, so what open windows were promised is taken off
// whole.
bool has_room(World& world, std::size_t bytes) {
  const std::size_t limit = world.options().shared_memory_limit;
  const std::size_t promised = mpi::open_window_bytes(world.node_group());
  if (limit > 0 && promised + bytes > limit) return false;
  struct statvfs status {};
  if (::statvfs(mpi::window_directory().c_str(), &status) != 0) return false;
  const std::size_t room = static_cast<std::size_t>(status.f_bavail) * status.f_frsize;
  // The library's own control pages and padding, and a margin for other jobs.
  constexpr std::size_t overhead_per_rank = 64 * 1024;
  const std::size_t overhead = bytes / 16 + overhead_per_rank * static_cast<std::size_t>(world.node_size());
  return promised + bytes + overhead <= room;
}

// The first rank of the node decides: what the file system says may change between two looks.
bool window_fits(World& world, std::size_t bytes, const std::string& what) {
  std::int32_t fits = 0;
  if (world.node_rank() == 0) fits = has_room(world, bytes) ? 1 : 0;
  world.node_group().broadcast(view_of(&fits, 1), 0, what);
  return fits != 0;
}

}  // namespace

std::unique_ptr<NodeSegment> NodeSegment::allocate(World& world, std::size_t bytes, const std::string& what) {
  Communicator& group = world.node_group();
  if (group.size() == 1) return make_private_segment(bytes);
  const std::vector<std::size_t> sizes = gather_sizes(group, bytes, what);
  const std::size_t total = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  if (window_fits(world, total, what)) {
    if (auto segment = mpi::make_shared_window(group, sizes)) return segment;
  }
  for (const std::string& directory : world.options().segment_directories) {
    std::string reason;
    if (auto segment = make_file_segment(group, sizes, directory, reason)) return segment;
    if (world.node_rank() == 0) log_warning(fmt::format("no shared file for {}: {}", what, reason));
  }
  return nullptr;
}

}  // namespace cohort
