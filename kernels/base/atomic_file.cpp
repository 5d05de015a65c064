#include "kernels/base/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "kernels/base/error.hpp"

namespace cohort {
namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Null where the file system has no files without names.
std::FILE* open_nameless(const std::string& folder) {
#ifdef O_TMPFILE
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor < 0) return nullptr;
  if (std::FILE* file = ::fdopen(descriptor, "wb")) return file;
  ::close(descriptor);
#else
  static_cast<void>(folder);
#endif
  return nullptr;
}

// The rename itself must reach the disk too. Some file systems cannot sync a directory; the file is whole all the same.
void sync_folder_of(const std::string& path) {
  const int descriptor = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), temporary_(fmt::format("{}.tmp.{}", path_, ::getpid())) {
  file_ = open_nameless(folder_of(path_));
  if (file_ == nullptr) {
    file_ = std::fopen(temporary_.c_str(), "wbe");
    named_ = file_ != nullptr;
  }
  if (file_ == nullptr) COHORT_FAIL(io, "cannot write {}: {}", path_, std::strerror(errno));
}

AtomicFile::~AtomicFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (named_) ::unlink(temporary_.c_str());
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
  if (!named_) {
    const std::string open_file = fmt::format("/proc/self/fd/{}", ::fileno(file_));
    ::unlink(temporary_.c_str());  // of an earlier process with this number
    if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0)
      COHORT_FAIL(io, "cannot name {}: {}", temporary_, std::strerror(errno));
    named_ = true;
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
    COHORT_FAIL(io, "cannot rename {} to {}: {}", temporary_, path_, std::strerror(errno));
  named_ = false;
  if (std::fclose(std::exchange(file_, nullptr)) != 0)
    COHORT_FAIL(io, "cannot write {}: {}", path_, std::strerror(errno));
  sync_folder_of(path_);
}

}  // namespace cohort
