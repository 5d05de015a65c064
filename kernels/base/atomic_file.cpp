#include "kernels/base/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "kernels/base/error.hpp"

namespace cohort {
namespace {

// The rename itself must reach the disk too. Some file systems cannot sync a directory; the file is whole all the same.
void sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), temporary_(fmt::format("{}.tmp.{}", path_, ::getpid())) {
  file_ = std::fopen(temporary_.c_str(), "wbe");
  if (file_ == nullptr) COHORT_FAIL(io, "cannot write {}: {}", path_, std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  COHORT_CHECK(file_ != nullptr, "{} was written to after its commit", path_);
  if (bytes == 0) return;
  if (std::fwrite(data, 1, bytes, file_) != bytes) COHORT_FAIL(io, "cannot write {}: {}", path_, std::strerror(errno));
}

void AtomicFile::commit() {
  COHORT_CHECK(file_ != nullptr, "{} was committed twice", path_);
  if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0)
    COHORT_FAIL(io, "cannot write {}: {}", path_, std::strerror(errno));
  if (std::fclose(std::exchange(file_, nullptr)) != 0)
    COHORT_FAIL(io, "cannot write {}: {}", path_, std::strerror(errno));
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
    COHORT_FAIL(io, "cannot rename {} to {}: {}", temporary_, path_, std::strerror(errno));
  temporary_.clear();
  sync_folder_of(path_);
}

}  // namespace cohort
