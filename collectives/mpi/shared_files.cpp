#include "collectives/mpi/shared_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>

namespace cohort::mpi {
namespace {

// A mapped file that belongs to the library's transport and to this user, by its path in /proc/self/maps.
bool is_library_file(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with("vader_segment.")) return false;
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
}

std::vector<std::string> mapped_library_files() {
  std::vector<std::string> paths;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t begin = line.find('/');
    if (begin != std::string::npos && is_library_file(line.substr(begin))) paths.push_back(line.substr(begin));
  }
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  return paths;
}

// The paths that the first rank of the group has mapped, one per line.
std::vector<std::string> leader_paths(cohort::Communicator& group, const std::vector<std::string>& own) {
  std::string lines;
  for (const std::string& path : own) lines += path + '\n';
  lines = broadcast_text(group, lines, 0, "the library's shared files");
  std::vector<std::string> paths;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = lines.find('\n', begin);
    paths.push_back(lines.substr(begin, end - begin));
    begin = end + 1;
  }
  return paths;
}

}  // namespace

std::vector<std::string> unlink_library_files(cohort::Communicator& memory_group) {
  const std::vector<std::string> own = mapped_library_files();
  const std::vector<std::string> paths = leader_paths(memory_group, own);
  std::vector<std::uint8_t> mapped(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i)
    mapped[i] = std::binary_search(own.begin(), own.end(), paths[i]) ? 1 : 0;
  memory_group.allreduce(view_of(mapped.data(), static_cast<std::int64_t>(mapped.size())), ReduceOp::min,
                         "the library's shared files");
  std::vector<std::string> removed;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (mapped[i] == 0) continue;
    ::unlink(paths[i].c_str());  // the first rank to come does it, the others find nothing
    removed.push_back(paths[i]);
  }
  return removed;
}

void restore_names(const std::vector<std::string>& names) noexcept {
  for (const std::string& name : names) {
    const int file = ::open(name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0) ::close(file);
  }
}

}  // namespace cohort::mpi
