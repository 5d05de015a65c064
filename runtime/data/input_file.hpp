// Reading a file from its beginning to its end, unpacked where it is gzip-compressed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/base/files.hpp"

struct z_stream_s;  // zlib's

namespace cohort {

// Whether a file is compressed is seen from its first bytes, not from its name. Every error is an Error(usage) with the
// path and what is wrong. Neither copies nor moves.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  bool compressed() const { return compressed_; }
  // Of the file on disk.
  std::uint64_t stored_bytes() const { return stored_bytes_; }
  // read() cannot bring more than this in all; exact where the file is not compressed.
  std::uint64_t most_bytes() const;

  // Fills `bytes` as far as the file goes and returns how much that was; less than asked only at the end.
  std::size_t read(std::span<std::uint8_t> bytes);

 private:
  std::size_t read_stored(std::span<std::uint8_t> bytes);
  std::size_t inflate(std::span<std::uint8_t> bytes);
  bool refill();
  void start_next_member();

  std::string path_;
  FilePointer file_;
  std::uint64_t stored_bytes_ = 0;  // the file's size
  bool compressed_ = false;
  bool ended_ = false;
  std::unique_ptr<z_stream_s> stream_;
  std::array<std::uint8_t, 1 << 16> chunk_;
};

}  // namespace cohort
