#include "collectives/node_segment.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <span>

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

// Where the libraries keep shared memory unless told otherwise.
constexpr const char* usual_directory = "/dev/shm";

// The library's own control pages and padding, and a margin for other jobs.
std::size_t with_overhead(const World& world, std::size_t bytes) {
  constexpr std::size_t overhead_per_rank = 64 * 1024;
  return bytes + bytes / 16 + overhead_per_rank * static_cast<std::size_t>(world.node_size());
}

// Whether `directory` has the room for shared windows of `bytes` that nobody has touched. Asked before anybody does: a
// touch beyond the file system's end is a fatal signal, not an error.
bool has_room(const World& world, std::size_t bytes, const std::string& directory) {
  struct statvfs status {};
  if (::statvfs(directory.c_str(), &status) != 0) return false;
  const std::size_t room = static_cast<std::size_t>(status.f_bavail) * status.f_frsize;
  return with_overhead(world, bytes) <= room;
}

// Whether this process may have a file, and a mapping, of that size. The library leaves the other ranks waiting when
// one of them may not.
bool within_limits(std::size_t bytes) {
  struct rlimit files {};
  if (::getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur != RLIM_INFINITY && bytes > files.rlim_cur) return false;
  void* const place = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return false;
  ::munmap(place, bytes);
  return true;
}

// Collective over the node.
bool all_within_limits(World& world, std::size_t bytes, const std::string& what) {
  std::int32_t good = within_limits(bytes) ? 1 : 0;
  world.node_group().allreduce(view_of(&good, 1), ReduceOp::min, what);
  return good != 0;
}

// The directory of the file that is mapped at `address`, as the kernel knows it.
std::string directory_of(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR, &begin, &end) != 2 || wanted < begin || wanted >= end)
      continue;
    const std::size_t path = line.find('/');
    return path == std::string::npos ? std::string() : line.substr(path, line.rfind('/') - path);
  }
  return {};
}

// The first rank of the node decides, since what the file system says may change between two looks.
template <class Question>
bool first_rank_says(World& world, const std::string& what, Question&& question) {
  std::int32_t answer = 0;
  if (world.node_rank() == 0) answer = question() ? 1 : 0;
  world.node_group().broadcast(view_of(&answer, 1), 0, what);
  return answer != 0;
}

// Null where the window would not fit. The library can be told to keep windows elsewhere; asking it where takes a
// quarter of a second, so the usual place is looked at before, and the true one, where it is another, after.
std::unique_ptr<NodeSegment> try_window(World& world, std::span<const std::size_t> sizes, const std::string& what) {
  // A file system counts only pages that were touched, so what open windows were promised is asked for again.
  const std::size_t total = std::accumulate(sizes.begin(), sizes.end(), mpi::open_window_bytes(world.node_group()));
  const std::size_t limit = world.options().shared_memory_limit;
  const bool allowed = limit == 0 || total <= limit;
  if (!first_rank_says(world, what, [&] { return allowed && has_room(world, total, usual_directory); })) return nullptr;
  if (!all_within_limits(world, with_overhead(world, total), what)) return nullptr;
  auto segment = mpi::make_shared_window(world.node_group(), sizes);
  const bool stays = first_rank_says(world, what, [&] {
    const std::string directory = directory_of(segment->part(0));
    return directory.empty() || directory == usual_directory || has_room(world, total, directory);
  });
  if (stays) return segment;
  segment->close();
  return nullptr;
}

}  // namespace

std::unique_ptr<NodeSegment> NodeSegment::allocate(World& world, std::size_t bytes, const std::string& what) {
  Communicator& group = world.node_group();
  if (group.size() == 1) return make_private_segment(bytes);
  const std::vector<std::size_t> sizes = gather_sizes(group, bytes, what);
  if (auto segment = try_window(world, sizes, what)) return segment;
  for (const std::string& directory : world.options().segment_directories) {
    std::string reason;
    if (auto segment = make_file_segment(group, sizes, directory, reason)) return segment;
    if (world.node_rank() == 0) log_warning(fmt::format("no shared file for {}: {}", what, reason));
  }
  return nullptr;
}

}  // namespace cohort
