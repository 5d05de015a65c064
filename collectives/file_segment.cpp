#include "collectives/file_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/base/handle.hpp"

namespace cohort {
namespace {

constexpr std::size_t page = 4096;

struct FileTraits {
  using value_type = int;
  static int null() noexcept { return -1; }
  static void release(int file) noexcept { ::close(file); }
};
using File = UniqueHandle<FileTraits>;

// One mapping, cut into parts that begin on pages.
class MappedSegment final : public NodeSegment {
 public:
  MappedSegment(std::byte* memory, std::size_t mapped, std::span<const std::size_t> bytes, std::string kind)
      : memory_(memory), mapped_(mapped), bytes_(bytes.begin(), bytes.end()), kind_(std::move(kind)) {}
  ~MappedSegment() override { unmap(); }

  std::byte* part(int node_rank) const override {
    std::size_t offset = 0;
    for (int rank = 0; rank < node_rank; ++rank) offset += padded(part_bytes(rank));
    return memory_ + offset;
  }
  std::size_t part_bytes(int node_rank) const override { return bytes_.at(static_cast<std::size_t>(node_rank)); }
  const std::string& kind() const override { return kind_; }
  void close() override { unmap(); }

  static std::size_t padded(std::size_t bytes) { return (bytes + page - 1) / page * page; }

 private:
  void unmap() noexcept {
    if (memory_ != nullptr) ::munmap(memory_, mapped_);
    memory_ = nullptr;
  }

  std::byte* memory_;
  std::size_t mapped_;
  std::vector<std::size_t> bytes_;
  std::string kind_;
};

// Never empty: a mapping of nothing is an error.
std::size_t total_of(std::span<const std::size_t> bytes) {
  std::size_t total = 0;
  for (const std::size_t part : bytes) total += MappedSegment::padded(part);
  return total == 0 ? page : total;
}

// A new file of `bytes` allocated bytes in `directory`; its path goes to `path`.
File make_file(const std::string& directory, std::size_t bytes, std::string& path, int& error) {
  path = directory + "/cohort-segment-XXXXXX";
  File file(::mkostemp(path.data(), O_CLOEXEC));
  error = file ? ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)) : errno;
  return file;
}

// Opens the first rank's file and maps it. Null with `error` set where that fails.
std::byte* map_file(const File& file, std::size_t bytes, int& error) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory != MAP_FAILED) return static_cast<std::byte*>(memory);
  error = errno;
  return nullptr;
}

}  // namespace

std::unique_ptr<NodeSegment> make_file_segment(Communicator& group, std::span<const std::size_t> bytes,
                                               const std::string& directory, std::string& reason) {
  const std::size_t total = total_of(bytes);
  const bool maker = group.rank() == 0;
  std::string path;
  File file;
  int error = 0;
  if (maker) file = make_file(directory, total, path, error);
  path = broadcast_text(group, path, 0, "a shared file");
  group.broadcast(view_of(&error, 1), 0, "a shared file");
  std::byte* memory = nullptr;
  if (error == 0 && !maker) {
    file.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file) error = errno;
  }
  if (error == 0) memory = map_file(file, total, error);
  group.allreduce(view_of(&error, 1), ReduceOp::max, "a shared file");
  // Every rank has it mapped (or nobody will): from here on no kill can leave it behind.
  if (maker) ::unlink(path.c_str());
  if (error != 0) {
    if (memory != nullptr) ::munmap(memory, total);
    reason = fmt::format("{}: {}", directory, std::strerror(error));
    return nullptr;
  }
  return std::make_unique<MappedSegment>(memory, total, bytes, "file in " + directory);
}

std::unique_ptr<NodeSegment> make_private_segment(std::size_t bytes) {
  const std::size_t total = total_of(std::span(&bytes, 1));
  void* const memory = ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) COHORT_FAIL(memory, "{} bytes of memory: {}", bytes, std::strerror(errno));
  return std::make_unique<MappedSegment>(static_cast<std::byte*>(memory), total, std::span(&bytes, 1), "private");
}

}  // namespace cohort
