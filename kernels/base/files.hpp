// Opening files without waiting for somebody else.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace cohort {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using FilePointer = std::unique_ptr<std::FILE, CloseFile>;

// Created or truncated, for writing. Null with errno set where that fails, as for a pipe that nobody reads.
FilePointer open_for_writing(const std::string& path);

// A regular file, for reading: pipes and devices may have no end. Throws Error(usage) with the path and what is wrong.
FilePointer open_regular(const std::string& path);

}  // namespace cohort
