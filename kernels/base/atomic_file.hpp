// Writing a file so that it exists whole or not at all.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace cohort {

// Collects bytes in a file without a name, so that nothing is left of a process that is killed; commit() flushes them
// to disk, names the file `path`.tmp.<pid> and renames it. On file systems that know no such files it has the temporary
// name from the beginning. Without commit the file is removed. Every failed call throws Error(io) with the path and the
// system's words. Neither copies nor moves.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  std::string path_;
  std::string temporary_;
  bool named_ = false;  // `temporary_` is there
  std::FILE* file_ = nullptr;
};

}  // namespace cohort
