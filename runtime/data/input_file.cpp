#include "runtime/data/input_file.hpp"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "kernels/base/error.hpp"

namespace cohort {
namespace {

constexpr std::array<std::uint8_t, 2> gzip_magic{0x1F, 0x8B};

// deflate cannot pack tighter than this.
constexpr std::uint64_t greatest_ratio = 1032;

[[noreturn]] void throw_system(const std::string& path, int code) {
  throw_usage("cannot read {}: {}", path, std::generic_category().message(code));
}

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)), stream_(std::make_unique<z_stream>()) {
  file_ = open_regular(path_);
  struct stat status {};
  if (::fstat(::fileno(file_.get()), &status) != 0) throw_system(path_, errno);
  stored_bytes_ = static_cast<std::uint64_t>(status.st_size);
  std::array<std::uint8_t, gzip_magic.size()> start;
  compressed_ = read_stored(start) == start.size() && start == gzip_magic;
  std::rewind(file_.get());
  constexpr int gzip_wrapper = 16;
  if (compressed_ && inflateInit2(stream_.get(), MAX_WBITS + gzip_wrapper) != Z_OK)
    COHORT_FAIL(memory, "{}: zlib cannot start", path_);
}

InputFile::~InputFile() {
  if (compressed_) inflateEnd(stream_.get());
}

std::uint64_t InputFile::most_bytes() const { return compressed_ ? stored_bytes_ * greatest_ratio : stored_bytes_; }

std::size_t InputFile::read(std::span<std::uint8_t> bytes) { return compressed_ ? inflate(bytes) : read_stored(bytes); }

std::size_t InputFile::read_stored(std::span<std::uint8_t> bytes) {
  const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), file_.get());
  if (got < bytes.size() && std::ferror(file_.get())) throw_system(path_, errno);
  return got;
}

std::size_t InputFile::inflate(std::span<std::uint8_t> bytes) {
  std::size_t got = 0;
  while (got < bytes.size() && !ended_) {
    if (stream_->avail_in == 0 && !refill())
      throw_usage("{}: the gzip stream is cut off: {} compressed bytes hold no end", path_, stored_bytes_);
    const std::size_t room = std::min<std::size_t>(bytes.size() - got, std::numeric_limits<uInt>::max());
    stream_->next_out = bytes.data() + got;
    stream_->avail_out = static_cast<uInt>(room);
    const int code = ::inflate(stream_.get(), Z_NO_FLUSH);
    got += room - stream_->avail_out;
    if (code == Z_STREAM_END)
      start_next_member();
    else if (code != Z_OK && code != Z_BUF_ERROR)
      throw_usage("{}: the gzip stream is damaged after {} unpacked bytes: {}", path_, stream_->total_out,
                  stream_->msg != nullptr ? stream_->msg : zError(code));
  }
  return got;
}

bool InputFile::refill() {
  stream_->next_in = chunk_.data();
  stream_->avail_in = static_cast<uInt>(read_stored(chunk_));
  return stream_->avail_in > 0;
}

// gzip streams may follow one another; anything else after one is not ours to guess at.
void InputFile::start_next_member() {
  if (stream_->avail_in == 0 && !refill()) {
    ended_ = true;
    return;
  }
  if (stream_->next_in[0] != gzip_magic[0]) throw_usage("{}: bytes that are no gzip follow the gzip stream", path_);
  inflateReset(stream_.get());
}

}  // namespace cohort
