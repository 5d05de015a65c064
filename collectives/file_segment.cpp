#include "collectives/file_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
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

// A new file of `bytes` allocated bytes that the other ranks can open by its path. Neither copies nor moves.
class NewFile {
 public:
  // Without a name, so that no kill can leave it behind; the path goes through this process. Where the file system, or
  // a rank in another process space, does not have that: with a name, until the destructor.
  NewFile(const std::string& directory, std::size_t bytes, bool named) : named_(named) {
    if (named) {
      path_ = directory + "/cohort-segment-XXXXXX";
      file_.reset(::mkostemp(path_.data(), O_CLOEXEC));
      named_ = static_cast<bool>(file_);
    } else {
      file_.reset(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
      path_ = fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get());
    }
    error_ = file_ ? ::posix_fallocate(file_.get(), 0, static_cast<off_t>(bytes)) : errno;
  }
  ~NewFile() {
    if (named_) ::unlink(path_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  const File& file() const { return file_; }
  const std::string& path() const { return path_; }
  int error() const { return error_; }

 private:
  File file_;
  std::string path_;
  bool named_;
  int error_ = 0;
};

// Null with `error` set where that fails.
std::byte* map_file(const File& file, std::size_t bytes, int& error) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory != MAP_FAILED) return static_cast<std::byte*>(memory);
  error = errno;
  return nullptr;
}

// Collective: the first rank makes the file, the others open it, all map it. Null on every rank, with the same `error`,
// where one of them cannot.
std::byte* share_file(Communicator& group, const std::string& directory, std::size_t bytes, bool named, int& error) {
  std::optional<NewFile> made;
  File opened;
  if (group.rank() == 0) made.emplace(directory, bytes, named);
  const std::string path = broadcast_text(group, made ? made->path() : std::string(), 0, "a shared file");
  error = made ? made->error() : 0;
  group.broadcast(view_of(&error, 1), 0, "a shared file");
  std::byte* memory = nullptr;
  if (error == 0 && !made) {
    opened.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!opened) error = errno;
  }
  if (error == 0) memory = map_file(made ? made->file() : opened, bytes, error);
  group.allreduce(view_of(&error, 1), ReduceOp::max, "a shared file");
  if (error != 0 && memory != nullptr) ::munmap(memory, bytes);
  return error == 0 ? memory : nullptr;
}

}  // namespace

std::unique_ptr<NodeSegment> make_file_segment(Communicator& group, std::span<const std::size_t> bytes,
                                               const std::string& directory, std::string& reason) {
  const std::size_t total = total_of(bytes);
  int error = 0;
  std::byte* memory = share_file(group, directory, total, false, error);
  if (memory == nullptr && error != ENOSPC) memory = share_file(group, directory, total, true, error);
  if (memory == nullptr) {
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
