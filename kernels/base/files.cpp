#include "kernels/base/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "kernels/base/error.hpp"

namespace cohort {

FilePointer open_for_writing(const std::string& path) {
  // Only the opening must not wait: writes to a pipe may.
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
  if (descriptor < 0) return nullptr;
  if (::fcntl(descriptor, F_SETFL, 0) == 0)
    if (FilePointer file{::fdopen(descriptor, "w")}) return file;
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  return nullptr;
}

FilePointer open_regular(const std::string& path) {
  struct stat status {};
  const auto wrong = [&] { throw_usage("cannot read {}: {}", path, std::strerror(errno)); };
  if (::stat(path.c_str(), &status) != 0) wrong();
  if (S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    wrong();
  }
  if (!S_ISREG(status.st_mode)) throw_usage("cannot read {}: not a regular file", path);
  FilePointer file(std::fopen(path.c_str(), "rbe"));
  if (!file) wrong();
  return file;
}

}  // namespace cohort
