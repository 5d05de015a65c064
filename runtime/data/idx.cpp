// MNIST's idx files: a big-endian header, then bytes.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/error.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/data/input_file.hpp"
#include "runtime/data/pixels.hpp"

namespace cohort {
namespace {

constexpr std::uint32_t image_magic = 0x803;  // bytes, three dimensions: count, rows, columns
constexpr std::uint32_t label_magic = 0x801;  // bytes, one dimension

struct IdxFile {
  std::string path;
  std::vector<std::uint32_t> extents;
  std::shared_ptr<Buffer> values;  // a vector would write zeros over the whole block before the file's bytes come

  std::span<std::uint8_t> bytes() const { return {static_cast<std::uint8_t*>(values->data()), values->bytes()}; }
};

class IdxDataset final : public Dataset {
 public:
  IdxDataset(std::string description, IdxFile images, IdxFile labels)
      : description_(std::move(description)),
        shape_{1, images.extents[1], images.extents[2]},
        sample_bytes_(static_cast<std::size_t>(shape_.count())),
        images_(std::move(images)),
        labels_(std::move(labels)),
        classes_(1 + *std::ranges::max_element(labels_.bytes())) {}

  const std::string& description() const override { return description_; }
  std::int64_t count() const override { return static_cast<std::int64_t>(labels_.bytes().size()); }
  const Shape& sample_shape() const override { return shape_; }
  int classes() const override { return classes_; }
  int label(std::int64_t index) const override {
    COHORT_CHECK(index >= 0 && index < count(), "sample {} of {}", index, count());
    return labels_.bytes()[static_cast<std::size_t>(index)];
  }
  const std::string& label_source() const override { return labels_.path; }

  void read(std::int64_t index, float scale, std::span<float> values, float& label) const override {
    COHORT_CHECK(index >= 0 && index < count(), "sample {} of {}", index, count());
    scale_bytes(image(index), scale, values);
    label = labels_.bytes()[static_cast<std::size_t>(index)];
  }

  void will_read(std::int64_t index) const override { prefetch_bytes(image(index)); }

 private:
  std::span<const std::uint8_t> image(std::int64_t index) const {
    return images_.bytes().subspan(static_cast<std::size_t>(index) * sample_bytes_, sample_bytes_);
  }

  std::string description_;
  Shape shape_;
  std::size_t sample_bytes_;
  IdxFile images_;
  IdxFile labels_;
  int classes_;
};

std::string_view what_holds(std::uint32_t magic) {
  switch (magic) {
    case image_magic: return " (images)";
    case label_magic: return " (labels)";
    default: return "";
  }
}

std::string in_words(const std::vector<std::uint32_t>& extents) { return fmt::format("{}", fmt::join(extents, "x")); }

std::vector<std::uint32_t> read_header(InputFile& file, std::uint32_t magic) {
  const std::size_t words = 1 + (magic & 0xFF);
  std::vector<std::uint8_t> header(4 * words);
  const std::size_t got = file.read(header);
  const auto word = [&header](std::size_t i) {
    std::uint32_t value = 0;
    for (std::size_t byte = 0; byte < 4; ++byte) value = value << 8 | header[4 * i + byte];
    return value;
  };
  if (got == 0) throw_usage("{}: the file is empty", file.path());
  if (got >= 4 && word(0) != magic)
    throw_usage("{}: wrong magic number {:#010x}{}, expected {:#010x}{}", file.path(), word(0), what_holds(word(0)),
                magic, what_holds(magic));
  if (got < header.size())
    throw_usage("{}: truncated: a header of {} bytes expected, {} bytes found", file.path(), header.size(), got);
  std::vector<std::uint32_t> extents;
  for (std::size_t i = 1; i < words; ++i) extents.push_back(word(i));
  return extents;
}

// Bytes of the whole file, header included, as the header states them; checked against what the file can hold, so that
// a damaged header does not ask for all memory.
std::uint64_t expected_bytes(const InputFile& file, const std::vector<std::uint32_t>& extents) {
  const std::uint64_t header = 4 * (1 + extents.size());
  std::uint64_t values = 1;
  for (const std::uint32_t extent : extents) {
    if (extent == 0) throw_usage("{}: the header states no values: {}", file.path(), in_words(extents));
    if (values > std::numeric_limits<std::uint64_t>::max() / 2 / extent)
      throw_usage("{}: the header states {} values, more than any file has", file.path(), in_words(extents));
    values *= extent;
  }
  if (header + values > file.most_bytes())
    throw_usage("{}: truncated: {} values take {} bytes, {} {}bytes found", file.path(), in_words(extents),
                header + values, file.stored_bytes(), file.compressed() ? "compressed " : "");
  return header + values;
}

IdxFile read_idx(const std::string& path, std::uint32_t magic) {
  InputFile file(path);
  IdxFile idx{path, read_header(file, magic), nullptr};
  const std::uint64_t expected = expected_bytes(file, idx.extents);
  const std::uint64_t header = 4 * (1 + idx.extents.size());
  try {
    idx.values = Buffer::allocate(expected - header);
  } catch (Error& error) {
    throw error.add_context(fmt::format("reading {}", path));
  }
  std::uint64_t found = header + file.read(idx.bytes());
  if (found < expected)
    throw_usage("{}: truncated: {} values take {} bytes, {} bytes found", path, in_words(idx.extents), expected, found);
  std::array<std::uint8_t, 4096> more;
  while (const std::size_t got = file.read(more)) found += got;
  if (found > expected)
    throw_usage("{}: too long: {} values take {} bytes, {} bytes found", path, in_words(idx.extents), expected, found);
  return idx;
}

// One of the names under which the file is known, in `directory`. `kind` is "idx3" or "idx1".
std::string find_file(const std::string& directory, std::string_view stem, std::string_view kind) {
  std::vector<std::string> names;
  for (const char separator : {'-', '.'})
    for (const std::string_view suffix : {"", ".gz"}) {
      names.push_back(fmt::format("{}{}{}-ubyte{}", stem, separator, kind, suffix));
      const std::filesystem::path path = std::filesystem::path(directory) / names.back();
      // Whatever else is wrong with a file that exists is said when it is read.
      std::error_code error;
      if (std::filesystem::status(path, error).type() != std::filesystem::file_type::not_found) return path;
    }
  throw_usage("{}: no {} files: looked for {}", directory, stem, fmt::join(names, ", "));
}

std::unique_ptr<Dataset> open_set(const std::string& directory, std::string_view prefix) {
  IdxFile images = read_idx(find_file(directory, fmt::format("{}-images", prefix), "idx3"), image_magic);
  IdxFile labels = read_idx(find_file(directory, fmt::format("{}-labels", prefix), "idx1"), label_magic);
  if (images.extents[0] != labels.extents[0])
    throw_usage("{}: {} labels, but {} has {} images", labels.path, labels.extents[0], images.path, images.extents[0]);
  return std::make_unique<IdxDataset>(fmt::format("MNIST in {}", directory), std::move(images), std::move(labels));
}

}  // namespace

DatasetPair open_idx_directory(const std::string& directory) {
  std::error_code error;
  if (std::filesystem::directory_iterator(directory, error); error)
    throw_usage("cannot read the data directory {}: {}", directory, error.message());
  DatasetPair pair{open_set(directory, "train"), open_set(directory, "t10k")};
  const Shape& train = pair.train->sample_shape();
  const Shape& validation = pair.validation->sample_shape();
  if (train != validation)
    throw_usage("{}: training images are {}, validation images {}", directory, to_string(train), to_string(validation));
  return pair;
}

}  // namespace cohort
