// Preloaded into a program, it makes every file system one that has no files without a name.
#include <dlfcn.h>
#include <fcntl.h>

#include <cerrno>
#include <cstdarg>

namespace {

using Open = int (*)(const char* path, int flags, ...);

int open_named(const char* function, const char* path, int flags, std::va_list more) {
  if ((flags & O_TMPFILE) == O_TMPFILE) {
    errno = EOPNOTSUPP;
    return -1;
  }
  const bool creates = (flags & O_CREAT) != 0;
  const auto next = reinterpret_cast<Open>(::dlsym(RTLD_NEXT, function));
  return creates ? next(path, flags, va_arg(more, int)) : next(path, flags);
}

}  // namespace

extern "C" int open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const int file = open_named("open", path, flags, more);
  va_end(more);
  return file;
}

extern "C" int open64(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const int file = open_named("open64", path, flags, more);
  va_end(more);
  return file;
}
