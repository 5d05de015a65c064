// idx files: what is read from good ones, and what is said of damaged ones.
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "kernels/base/error.hpp"
#include "runtime/data/dataset.hpp"
#include "test/support/catch.hpp"

using cohort::Dataset;
using cohort::DatasetPair;
using cohort::Error;
using cohort::open_idx_directory;
using cohort::Shape;
namespace fs = std::filesystem;
using Bytes = std::string;

namespace {

const std::string train_images = "train-images-idx3-ubyte";
const std::string train_labels = "train-labels-idx1-ubyte";
const std::string test_images = "t10k-images-idx3-ubyte";
const std::string test_labels = "t10k-labels-idx1-ubyte";

Bytes word(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

// Pixel p of image i is (i + p) mod 256.
Bytes images(std::uint32_t count, std::uint32_t rows = 2, std::uint32_t columns = 3) {
  Bytes file = word(0x803) + word(count) + word(rows) + word(columns);
  for (std::uint32_t i = 0; i < count; ++i)
    for (std::uint32_t pixel = 0; pixel < rows * columns; ++pixel) file += static_cast<char>(i + pixel);
  return file;
}

Bytes labels(std::uint32_t count) {
  Bytes file = word(0x801) + word(count);
  for (std::uint32_t i = 0; i < count; ++i) file += static_cast<char>(i % 10);
  return file;
}

Bytes gzip(const Bytes& plain) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes packed(deflateBound(&stream, plain.size()), '\0');
  Bytes input = plain;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// A directory with a good small set, removed at the end.
class Directory {
 public:
  Directory() {
    std::string pattern = (fs::temp_directory_path() / "cohort-idx-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
    write(train_images, images(30));
    write(train_labels, labels(30));
    write(test_images, images(7));
    write(test_labels, labels(7));
  }
  ~Directory() { fs::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  std::string path() const { return path_.string(); }
  std::string path(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const Bytes& bytes) const {
    std::ofstream(path(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  void remove(const std::string& name) const { fs::remove(path_ / name); }

 private:
  fs::path path_;
};

// The whole message, which is one line.
std::string error_of(const std::string& directory) {
  try {
    open_idx_directory(directory);
  } catch (const Error& error) {
    CHECK(error.kind() == cohort::ErrorKind::usage);
    std::string text = error.what();
    CHECK(text.find('\n') == std::string::npos);
    return text;
  }
  return "no error";
}

// What is said when one file of an otherwise good set has these bytes; must begin with the file's path.
std::string complaint(const std::string& name, const Bytes& bytes) {
  const Directory directory;
  directory.write(name, bytes);
  const std::string text = error_of(directory.path());
  const std::string file = directory.path(name) + ": ";
  INFO(text);
  REQUIRE(text.compare(0, file.size(), file) == 0);
  return text.substr(file.size());
}

// The same for a compressed file in the place of the plain one.
std::string packed_complaint(const std::string& name, const Bytes& bytes) {
  const Directory directory;
  directory.remove(name);
  directory.write(name + ".gz", bytes);
  const std::string text = error_of(directory.path());
  const std::string file = directory.path(name + ".gz") + ": ";
  INFO(text);
  REQUIRE(text.compare(0, file.size(), file) == 0);
  return text.substr(file.size());
}

void check_small_set(const Dataset& set, std::int64_t count) {
  REQUIRE(set.count() == count);
  CHECK(set.sample_shape() == Shape{1, 2, 3});
  std::vector<float> values(6);
  for (std::int64_t i = 0; i < count; ++i) {
    float label = -1;
    set.read(i, 0.25F, values, label);
    CHECK(label == static_cast<float>(i % 10));
    for (std::size_t pixel = 0; pixel < 6; ++pixel)
      CHECK(values[pixel] == 0.25F * static_cast<float>(i + static_cast<std::int64_t>(pixel)));
  }
}

}  // namespace

TEST_CASE("idx, reads plain files") {
  const Directory directory;
  const DatasetPair pair = open_idx_directory(directory.path());
  check_small_set(*pair.train, 30);
  check_small_set(*pair.validation, 7);
  CHECK(pair.train->classes() == 10);
  CHECK(pair.validation->classes() == 7);
  CHECK(pair.train->description() == "MNIST in " + directory.path());
}

TEST_CASE("idx, reads compressed files and the names with a dot") {
  const Directory directory;
  directory.remove(train_images);
  directory.write(train_images + ".gz", gzip(images(30)));
  directory.remove(train_labels);
  directory.write("train-labels.idx1-ubyte", labels(30));
  directory.remove(test_images);
  directory.write("t10k-images.idx3-ubyte.gz", gzip(images(7)));
  // Unpacked by a browser that kept the name; packed under a plain name.
  directory.remove(test_labels);
  directory.write(test_labels + ".gz", labels(7));
  const DatasetPair pair = open_idx_directory(directory.path());
  check_small_set(*pair.train, 30);
  check_small_set(*pair.validation, 7);
}

TEST_CASE("idx, reads gzip streams that follow one another") {
  const Directory directory;
  const Bytes plain = images(30);
  directory.write(train_images, gzip(plain.substr(0, 50)) + gzip(plain.substr(50)));
  check_small_set(*open_idx_directory(directory.path()).train, 30);
}

TEST_CASE("idx, first samples of a set") {
  const Directory directory;
  DatasetPair pair = open_idx_directory(directory.path());
  pair.train = cohort::first_samples(std::move(pair.train), 30);
  CHECK(pair.train->description() == "MNIST in " + directory.path());
  pair.train = cohort::first_samples(std::move(pair.train), 12);
  check_small_set(*pair.train, 12);
  CHECK(pair.train->description() == "the first 12 samples of MNIST in " + directory.path());
  std::vector<float> values(6);
  float label = 0;
  CHECK_THROWS_AS(pair.train->read(12, 1, values, label), Error);
  CHECK_THROWS_WITH(cohort::first_samples(std::move(pair.validation), 8),
                    "--num-examples 8: MNIST in " + directory.path() + " has 7 samples");
}

TEST_CASE("idx, damaged headers") {
  CHECK(complaint(train_images, "") == "the file is empty");
  CHECK(complaint(train_images, word(0x803).substr(0, 2)) == "truncated: a header of 16 bytes expected, 2 bytes found");
  CHECK(complaint(train_images, images(30).substr(0, 15)) ==
        "truncated: a header of 16 bytes expected, 15 bytes found");
  CHECK(complaint(train_labels, labels(30).substr(0, 7)) == "truncated: a header of 8 bytes expected, 7 bytes found");
  CHECK(complaint(train_images, labels(30)) == "wrong magic number 0x00000801 (labels), expected 0x00000803 (images)");
  CHECK(complaint(test_labels, images(7)) == "wrong magic number 0x00000803 (images), expected 0x00000801 (labels)");
  CHECK(complaint(test_labels, "<html>") == "wrong magic number 0x3c68746d, expected 0x00000801 (labels)");
  CHECK(complaint(train_images, images(0)) == "the header states no values: 0x2x3");
  CHECK(complaint(train_images, images(30, 0, 3)) == "the header states no values: 30x0x3");
}

TEST_CASE("idx, files of the wrong length") {
  const Bytes good = images(30);
  CHECK(complaint(train_images, good.substr(0, good.size() - 1)) ==
        "truncated: 30x2x3 values take 196 bytes, 195 bytes found");
  CHECK(complaint(train_images, good.substr(0, 16)) == "truncated: 30x2x3 values take 196 bytes, 16 bytes found");
  CHECK(complaint(train_images, good + "x") == "too long: 30x2x3 values take 196 bytes, 197 bytes found");
  CHECK(complaint(train_labels, labels(30) + Bytes(5000, 'x')) ==
        "too long: 30 values take 38 bytes, 5038 bytes found");
  const std::uint32_t most = 0xFFFFFFFF;
  CHECK(complaint(train_images, word(0x803) + word(most) + word(most) + word(most) + "x") ==
        "the header states 4294967295x4294967295x4294967295 values, more than any file has");
  CHECK(complaint(train_labels, word(0x801) + word(most) + "x") ==
        "truncated: 4294967295 values take 4294967303 bytes, 9 bytes found");
}

TEST_CASE("idx, labels that do not belong to the images") {
  CHECK(complaint(train_labels, labels(29)).find("29 labels, but ") == 0);
  CHECK(complaint(train_labels, labels(31)).find(train_images + " has 30 images") != std::string::npos);
  const Directory directory;
  directory.write(test_images, images(7, 3, 3));
  CHECK(error_of(directory.path()) ==
        directory.path() + ": training images are (1, 2, 3), validation images (1, 3, 3)");
}

TEST_CASE("idx, labels beyond a network's classes are named with file and sample") {
  const Directory directory;
  Bytes wrong = labels(7);
  wrong[8 + 4] = 77;
  directory.write(test_labels, wrong);
  const DatasetPair pair = open_idx_directory(directory.path());
  CHECK_NOTHROW(cohort::require_labels_below(*pair.train, 10));
  CHECK_THROWS_WITH(cohort::require_labels_below(*pair.validation, 10),
                    directory.path(test_labels) + ": sample 4 has label 77, but the network has 10 outputs");
  CHECK_THROWS_WITH(cohort::require_labels_below(*pair.train, 8),
                    directory.path(train_labels) + ": sample 8 has label 8, but the network has 8 outputs");
}

TEST_CASE("idx, labels of samples that are left out do not count") {
  const Directory directory;
  DatasetPair pair = open_idx_directory(directory.path());
  const std::unique_ptr<Dataset> part = cohort::first_samples(std::move(pair.train), 8);
  CHECK_NOTHROW(cohort::require_labels_below(*part, 8));
  CHECK_THROWS_WITH(cohort::require_labels_below(*part, 7),
                    directory.path(train_labels) + ": sample 7 has label 7, but the network has 7 outputs");
}

TEST_CASE("idx, a file larger than any memory is named") {
  const Directory directory;
  // Sparse: it says 2^48 values and has as many bytes, none of them on the disk.
  const std::uint32_t side = 1 << 16;
  directory.write(train_images, word(0x803) + word(side) + word(side) + word(side));
  std::error_code unsupported;
  fs::resize_file(directory.path(train_images), 16 + (std::uintmax_t{1} << 48), unsupported);
  if (unsupported) {
    WARN("skipped: no file of that size here: " << unsupported.message());
    return;
  }
  try {
    open_idx_directory(directory.path());
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.kind() == cohort::ErrorKind::memory);
    CHECK(error.message() == "cannot allocate 281474976710656 bytes");
    CHECK(std::string(error.what()).find("while reading " + directory.path(train_images)) != std::string::npos);
  }
}

TEST_CASE("idx, damaged compressed files") {
  const Bytes plain = images(30);
  const Bytes good = gzip(plain);
  const std::string size = std::to_string(good.size() - 3);
  CHECK(packed_complaint(train_images, good.substr(0, good.size() - 3)) ==
        "the gzip stream is cut off: " + size + " compressed bytes hold no end");
  CHECK(packed_complaint(train_images, good.substr(0, 5)) ==
        "the gzip stream is cut off: 5 compressed bytes hold no end");
  Bytes wrong_sum = good;
  wrong_sum[good.size() - 6] ^= 1;
  CHECK(packed_complaint(train_images, wrong_sum) ==
        "the gzip stream is damaged after 196 unpacked bytes: incorrect data check");
  CHECK(packed_complaint(train_images, good + "junk") == "bytes that are no gzip follow the gzip stream");
  CHECK(packed_complaint(train_images, gzip(plain.substr(0, 100))) ==
        "truncated: 30x2x3 values take 196 bytes, 100 bytes found");
  CHECK(packed_complaint(train_images, gzip(plain + "xy")) ==
        "too long: 30x2x3 values take 196 bytes, 198 bytes found");
  // A header that would ask for all memory.
  const Bytes greedy = gzip(word(0x801) + word(0xFFFFFFFF) + "x");
  CHECK(packed_complaint(train_labels, greedy) == "truncated: 4294967295 values take 4294967303 bytes, " +
                                                      std::to_string(greedy.size()) + " compressed bytes found");
}

TEST_CASE("idx, every damaged byte of a compressed file is noticed or harmless") {
  const Bytes good = gzip(images(30));
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    const Directory directory;
    directory.write(train_images, damaged);
    CAPTURE(at);
    try {
      check_small_set(*open_idx_directory(directory.path()).train, 30);  // the time stamp, for one
    } catch (const Error& error) {
      CHECK(error.kind() == cohort::ErrorKind::usage);
    }
  }
}

TEST_CASE("idx, missing and unreadable files") {
  const Directory directory;
  directory.remove(train_images);
  CHECK(error_of(directory.path()) ==
        directory.path() +
            ": no train-images files: looked for train-images-idx3-ubyte, train-images-idx3-ubyte.gz, "
            "train-images.idx3-ubyte, train-images.idx3-ubyte.gz");
  fs::create_directory(directory.path(train_images));
  CHECK(error_of(directory.path()) == "cannot read " + directory.path(train_images) + ": Is a directory");
  CHECK(error_of(directory.path("nowhere")) ==
        "cannot read the data directory " + directory.path("nowhere") + ": No such file or directory");
  CHECK(error_of(directory.path(test_labels)) ==
        "cannot read the data directory " + directory.path(test_labels) + ": Not a directory");
  CHECK(error_of("") == "cannot read the data directory : No such file or directory");
}

TEST_CASE("idx, MNIST itself") {
  const char* data = std::getenv("COHORT_TEST_DATA");
  if (data == nullptr) {
    WARN("skipped: COHORT_TEST_DATA is not set");
    return;
  }
  const DatasetPair pair = open_idx_directory((fs::path(data) / "mnist").string());
  CHECK(pair.train->count() == 60000);
  CHECK(pair.validation->count() == 10000);
  CHECK(pair.train->sample_shape() == Shape{1, 28, 28});
  CHECK(pair.train->classes() == 10);
  std::vector<float> values(784);
  const float first_labels[] = {5, 0, 4, 1, 9, 2, 1, 3, 1, 4};
  for (std::int64_t i = 0; i < 10; ++i) {
    float label = -1;
    pair.train->read(i, 1, values, label);
    CHECK(label == first_labels[i]);
  }
  // Sums of whole numbers, exact in double.
  const auto sum_of = [&values](const Dataset& set) {
    double sum = 0;
    for (std::int64_t i = 0; i < set.count(); ++i) {
      float label = -1;
      set.read(i, 1, values, label);
      for (const float value : values) sum += static_cast<double>(value);
    }
    return sum;
  };
  CHECK(sum_of(*pair.train) == 1567298545);
  CHECK(sum_of(*pair.validation) == 264923200);
}
