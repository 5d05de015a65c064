// NDArray list files: every version read, V2 written, and files that lie about their sizes.
#include "runtime/ndarray/params_file.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "kernels/base/error.hpp"
#include "test/support/catch.hpp"
#include "test/support/plain_backend.hpp"
#include "test/support/temporary_folder.hpp"

using cohort::Context;
using cohort::DType;
using cohort::Error;
using cohort::load_arrays;
using cohort::NamedArrays;
using cohort::NDArray;
using cohort::save_arrays;
using cohort::Shape;
using cohort::test::plain_backend;
using cohort::test::read_text;
using cohort::test::TemporaryFolder;
using cohort::test::write_text;
using Values = std::vector<float>;

namespace {

template <class... Numbers>
std::string bytes_of(Numbers... numbers) {
  std::string bytes;
  (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers), ...);
  return bytes;
}

using u32 = std::uint32_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u64 = std::uint64_t;

constexpr u32 v1 = 0xF993FAC8, v2 = 0xF993FAC9, v3 = 0xF993FACA;

std::string head(u64 arrays) { return bytes_of(u64{0x112}, u64{0}, arrays); }

std::string names(const std::vector<std::string>& list) {
  std::string bytes = bytes_of(u64{list.size()});
  for (const std::string& name : list) bytes += bytes_of(u64{name.size()}) + name;
  return bytes;
}

const std::string device = bytes_of(i32{1}, i32{0});
const std::string f32 = bytes_of(i32{0});
const std::string two_values = bytes_of(1.5f, -2.0f);

// Arrays of two values in every version.
const std::string dense_v0 = bytes_of(u32{1}, u32{2}) + device + f32 + two_values;
const std::string dense_v1 = bytes_of(v1, i32{2}, i64{1}, i64{2}) + device + f32 + two_values;
const std::string dense_v2 = bytes_of(v2, i32{0}, i32{1}, i64{2}) + device + f32 + two_values;
const std::string dense_v3 = bytes_of(v3, i32{0}, i32{1}, i64{2}) + device + f32 + two_values;
const std::string scalar_v3 = bytes_of(v3, i32{0}, i32{0}) + device + f32 + bytes_of(4.0f);
// One row of two values, out of three.
const std::string rows_v2 = bytes_of(v2, i32{1}, i32{2}, i64{1}, i64{2}, i32{2}, i64{3}, i64{2}) + device + f32 +
                            bytes_of(i32{6}, i32{1}, i64{1}) + two_values + bytes_of(i64{2});
const std::string csr_v2 = bytes_of(v2, i32{2}, i32{1}, i64{2}, i32{2}, i64{1}, i64{4}) + device + f32 +
                           bytes_of(i32{6}, i32{1}, i64{2}, i32{6}, i32{1}, i64{2}) + two_values +
                           bytes_of(i64{0}, i64{2}, i64{1}, i64{3});

// Loads a file of these bytes.
struct Loader {
  NamedArrays operator()(const std::string& bytes) {
    write_text(folder.file("a.params"), bytes);
    return load_arrays(context, folder.file("a.params"));
  }
  std::string error(const std::string& bytes) {
    try {
      (*this)(bytes);
    } catch (const Error& error) {
      CHECK(error.kind() == cohort::ErrorKind::usage);
      const std::string text = error.what();
      const std::string path = folder.file("a.params") + ": ";
      CHECK(text.substr(0, path.size()) == path);
      return text.substr(path.size());
    }
    return "nothing was thrown";
  }

  TemporaryFolder folder;
  Context context{plain_backend()};
};

}  // namespace

TEST_CASE("arrays of every version are read") {
  Loader load;
  const std::string bytes =
      head(5) + dense_v0 + dense_v1 + dense_v2 + dense_v3 + scalar_v3 + names({"a", "arg:b", "", "d", "e"});
  const NamedArrays arrays = load(bytes);
  REQUIRE(arrays.size() == 5);
  CHECK(arrays[1].first == "arg:b");
  CHECK(arrays[2].first.empty());
  CHECK(arrays[1].second.shape() == Shape{1, 2});
  for (const int i : {0, 1, 2, 3}) CHECK(arrays[static_cast<std::size_t>(i)].second.values() == Values{1.5f, -2});
  CHECK(arrays[4].second.shape() == Shape{1});
  CHECK(arrays[4].second.values() == Values{4});
}

TEST_CASE("a list without names has empty ones") {
  Loader load;
  const NamedArrays arrays = load(head(2) + dense_v0 + dense_v2 + names({}));
  REQUIRE(arrays.size() == 2);
  CHECK(arrays[1].first.empty());
  CHECK(load(head(0) + names({})).empty());
}

TEST_CASE("none is known in every version") {
  Loader load;
  const std::string unknown_extent = bytes_of(v3, i32{0}, i32{2}, i64{3}, i64{-1});
  const NamedArrays arrays = load(head(6) + bytes_of(u32{0}) + bytes_of(v1, i32{0}) + bytes_of(v2, i32{0}, i32{0}) +
                                  bytes_of(v3, i32{0}, i32{-1}) + unknown_extent + dense_v2 + names({}));
  REQUIRE(arrays.size() == 6);
  for (std::size_t i = 0; i < 5; ++i) CHECK(arrays[i].second.none());
  CHECK(arrays[5].second.values() == Values{1.5f, -2});
}

TEST_CASE("arrays without elements keep their shape") {
  Loader load;
  const NamedArrays arrays = load(head(1) + bytes_of(v3, i32{0}, i32{2}, i64{0}, i64{7}) + device + f32 + names({}));
  CHECK_FALSE(arrays[0].second.none());
  CHECK(arrays[0].second.shape() == Shape{0, 7});
}

TEST_CASE("every element type survives, and a device that is not here") {
  Loader load;
  const std::string gpu = bytes_of(i32{2}, i32{3});
  const NamedArrays arrays =
      load(head(3) + bytes_of(v2, i32{0}, i32{1}, i64{2}) + gpu + bytes_of(i32{1}, 0.1, -3.0) +
           bytes_of(v2, i32{0}, i32{1}, i64{1}) + gpu + bytes_of(i32{6}, i64{1} << 40) +
           bytes_of(v2, i32{0}, i32{1}, i64{1}) + gpu + bytes_of(i32{2}, std::uint16_t{0x3c00}) + names({}));
  REQUIRE(arrays.size() == 3);
  CHECK(arrays[0].second.dtype() == DType::f64);
  CHECK(arrays[0].second.view().as<double>()[0] == 0.1);
  CHECK(arrays[1].second.view().as<i64>()[0] == i64{1} << 40);
  CHECK(arrays[2].second.dtype() == DType::f16);
  CHECK(arrays[2].second.device() == cohort::cpu());
}

TEST_CASE("writing gives the 1.x bytes, and reading them back the same arrays") {
  Loader load;
  NDArray bytes = NDArray::zeros(load.context, {3}, DType::u8);
  bytes.assign(Values{1, 2, 255});
  const NamedArrays arrays{{"arg:a", NDArray::from_values(load.context, {2}, Values{1.5f, -2})},
                           {"aux:none", NDArray()},
                           {"arg:bytes", bytes}};
  save_arrays(load.folder.file("b.params"), arrays);
  const std::string expected = head(3) + dense_v2 + bytes_of(v2, i32{0}, i32{0}) +
                               bytes_of(v2, i32{0}, i32{1}, i64{3}) + device + bytes_of(i32{3}) + "\x01\x02\xff" +
                               names({"arg:a", "aux:none", "arg:bytes"});
  CHECK(read_text(load.folder.file("b.params")) == expected);
  CHECK(load.folder.entries() == 1);
  const NamedArrays again = load(expected);
  REQUIRE(again.size() == 3);
  CHECK(again[1].second.none());
  CHECK(again[2].second.values() == Values{1, 2, 255});
}

TEST_CASE("a list whose names are all empty is written without names") {
  Loader load;
  const NDArray a = NDArray::from_values(load.context, {2}, Values{1.5f, -2});
  save_arrays(load.folder.file("b.params"), {{"", a}, {"", a}});
  CHECK(read_text(load.folder.file("b.params")) == head(2) + dense_v2 + dense_v2 + names({}));
  save_arrays(load.folder.file("b.params"), {{"", a}, {"x", a}});
  CHECK(read_text(load.folder.file("b.params")) == head(2) + dense_v2 + dense_v2 + names({"", "x"}));
}

TEST_CASE("saving waits for the arrays, and a view is written as its own") {
  Loader load;
  NDArray a = NDArray::zeros(load.context, {4});
  a.fill(1);
  a *= 1.5f;
  a.slice(2, 3).fill(-2);
  save_arrays(load.folder.file("b.params"), {{"", a.slice(1, 3)}});
  CHECK(read_text(load.folder.file("b.params")) == head(1) + dense_v2 + names({}));
}

TEST_CASE("an array whose writer failed is not saved, and the old file stays") {
  Loader load;
  const std::string path = load.folder.file("b.params");
  write_text(path, "old");
  const NDArray a = NDArray::zeros(load.context, {4});
  load.context.enqueue(cohort::cpu(), {}, {&a.buffer(), 1}, [] { throw std::runtime_error("broken"); });
  CHECK_THROWS_WITH(save_arrays(path, {{"a", a}}), "broken");
  CHECK(read_text(path) == "old");
  CHECK(load.folder.entries() == 1);
}

TEST_CASE("a file that ends at any byte before its end is refused") {
  Loader load;
  const std::string whole = head(7) + dense_v0 + dense_v1 + dense_v2 + dense_v3 + scalar_v3 + bytes_of(u32{0}) +
                            bytes_of(v2, i32{0}, i32{0}) + names({"a", "bc", "def", "g", "h", "i", "j"});
  REQUIRE(load(whole).size() == 7);
  const std::string sparse = head(2) + rows_v2 + csr_v2 + names({"a", "b"});
  for (const std::string& bytes : {whole, sparse})
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const std::string error = load.error(bytes.substr(0, length));
      // The sizes are what is wrong, not what a cut number happens to be.
      const bool names_size = error.find("ends at byte") != std::string::npos ||
                              error.find("bytes left") != std::string::npos ||
                              error.find("bytes after the head") != std::string::npos;
      CAPTURE(length, error);
      CHECK(names_size);
    }
}

TEST_CASE("a file with any one byte changed is read or refused, and nothing else") {
  Loader load;
  const std::string whole = head(4) + dense_v0 + dense_v2 + rows_v2 + scalar_v3 + names({"a", "b", "c", "d"});
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const char byte : {'\x00', '\x01', '\x7f', '\x80', '\xff'}) {
      std::string bytes = whole;
      bytes[at] = byte;
      try {
        load(bytes);
      } catch (const Error& error) {
        CHECK(error.kind() == cohort::ErrorKind::usage);
      }
    }
}

TEST_CASE("sizes beyond the file's are named and not believed") {
  Loader load;
  const i64 huge = std::numeric_limits<i64>::max();
  CHECK(load.error(head(~u64{0})) == "18446744073709551615 arrays do not fit the 0 bytes after the head");
  CHECK(load.error(head(1) + bytes_of(v2, i32{0}, i32{1}, huge) + device + f32) ==
        "array 0: shape (9223372036854775807,) needs more than the 0 bytes left");
  // Products that overflow to something small.
  CHECK(load.error(head(1) + bytes_of(v2, i32{0}, i32{2}, i64{1} << 32, i64{1} << 32) + device + f32 + two_values) ==
        "array 0: shape (4294967296, 4294967296) needs more than the 8 bytes left");
  CHECK(load.error(head(1) + bytes_of(v2, i32{0}, i32{3}, huge, huge, i64{0}) + device + f32 + names({})) ==
        "array 0: shape (9223372036854775807, 9223372036854775807, 0) needs more than the 8 bytes left");
  CHECK(load.error(head(1) + bytes_of(v2, i32{0}, i32{1}, i64{-4}) + device + f32) == "array 0: an extent of -4");
  CHECK(load.error(head(1) + bytes_of(v2, i32{0}, i32{-1}) + device) == "array 0: -1 axes");
  CHECK(load.error(head(1) + bytes_of(v1, i32{33}) + device) == "array 0: 33 axes");
  CHECK(load.error(head(1) + bytes_of(u32{33}) + device) == "array 0: its first word 0x21 is no version known");
  CHECK(load.error(head(1) + dense_v2 + bytes_of(u64{1}, ~u64{0})) ==
        "the name of array 0 needs 18446744073709551615 bytes at byte 80, but the file ends at byte 80");
  CHECK(load.error(head(1) + dense_v2 + names({"a", "b"})) == "2 names for 1 arrays");
  CHECK(load.error(head(1) + dense_v2 + names({"a"}) + "x") == "1 bytes follow the end of the list");
}

TEST_CASE("damage behind the first array names the array that has it") {
  Loader load;
  const std::string first = head(2) + dense_v2;
  CHECK(load.error(first + dense_v1.substr(0, dense_v1.size() - 3)) ==
        "array 1: shape (1, 2) needs more than the 5 bytes left");
  CHECK(load.error(first + bytes_of(v2, i32{0}, i32{-3}) + device + f32) == "array 1: -3 axes");
  CHECK(load.error(first + bytes_of(v2, i32{0}, i32{2}, i64{1}, i64{-2}) + device + f32) == "array 1: an extent of -2");
  CHECK(load.error(first + bytes_of(v2, i32{0}, i32{1}, i64{2}) + device + bytes_of(i32{-1}) + two_values) ==
        "array 1: its element type -1 is not known");
  CHECK(load.error(first + dense_v1 + names({"only"})) == "1 names for 2 arrays");
  CHECK(load.error(first + dense_v1 + names({"a", "b"}) + dense_v0) == "28 bytes follow the end of the list");
}

TEST_CASE("an array larger than any memory is named, with its file") {
  Loader load;
  // Sparse: as long as it says, with nothing on the disk.
  const i64 elements = i64{1} << 46;
  write_text(load.folder.file("b.params"), head(1) + bytes_of(v2, i32{0}, i32{1}, elements) + device + f32);
  std::error_code unsupported;
  std::filesystem::resize_file(load.folder.file("b.params"), std::uintmax_t{1} << 49, unsupported);
  if (unsupported) {
    WARN("skipped: no file of that size here: " << unsupported.message());
    return;
  }
  CHECK_THROWS_WITH(
      load_arrays(load.context, load.folder.file("b.params")),
      load.folder.file("b.params") + ": array 0: shape (70368744177664,): cannot allocate 281474976710656 bytes");
}

TEST_CASE("what is no list, and what cannot be held yet, is said by name") {
  Loader load;
  CHECK(load.error("{\"nodes\": [], and so on}") == "not an NDArray list (wrong magic)");
  CHECK(load.error(bytes_of(u64{0x112}, u64{1}, u64{0}, u64{0})) == "not an NDArray list (reserved word set)");
  CHECK(load.error(head(2) + dense_v2 + rows_v2 + names({"a", "embedding"})) ==
        "array 1 (embedding) is not supported yet: row_sparse");
  CHECK(load.error(head(1) + csr_v2 + names({})) == "array 0 (unnamed) is not supported yet: csr");
  CHECK(load.error(head(1) + bytes_of(v2, i32{0}, i32{1}, i64{2}) + device + bytes_of(i32{7}) + "\x01\x01" +
                   names({"mask"})) == "array 0 (mask) is not supported yet: bool");
  CHECK(load.error(head(1) + bytes_of(v2, i32{0}, i32{1}, i64{2}) + device + bytes_of(i32{99})) ==
        "array 0: its element type 99 is not known");
  CHECK(load.error(head(1) + bytes_of(v2, i32{5})) == "array 0: its storage type 5 is not known");
}

TEST_CASE("a missing file and a folder are no lists") {
  Loader load;
  CHECK_THROWS_WITH(load_arrays(load.context, load.folder.file("none.params")),
                    "cannot read " + load.folder.file("none.params") + ": No such file or directory");
  CHECK_THROWS_WITH(load_arrays(load.context, load.folder.file("")),
                    "cannot read " + load.folder.file("") + ": Is a directory");
}

TEST_CASE("files written by MXNet are read to the last byte, and a 1.x one is written again as it was") {
  const char* data = std::getenv("COHORT_TEST_DATA");
  if (data == nullptr) {
    WARN("skipped: COHORT_TEST_DATA is not set");
    return;
  }
  const std::string folder = std::string(data) + "/mxnet-models/";
  Loader load;
  const auto elements = [](const NamedArrays& arrays) {
    i64 sum = 0;
    for (const auto& [name, array] : arrays) sum += array.count();
    return sum;
  };
  const NamedArrays det1 = load_arrays(load.context, folder + "det1-0001.params");
  CHECK(det1.size() == 13);
  CHECK(elements(det1) == 6632);
  for (const auto& [name, array] : det1) CHECK(name.substr(0, 4) == "arg:");
  const NamedArrays legacy = load_arrays(load.context, folder + "legacy_ndarray.v0");
  REQUIRE(legacy.size() == 6);
  Values counted(128);
  for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<float>(i);
  for (const auto& [name, array] : legacy) {
    CHECK(name.empty());
    CHECK(array.values() == counted);
  }
  const NamedArrays testnet = load_arrays(load.context, folder + "testnet.params");
  CHECK(testnet.size() == 6);
  const NamedArrays lenet = load_arrays(load.context, folder + "LeNet-0010.params");
  REQUIRE(lenet.size() == 10);
  save_arrays(load.folder.file("again.params"), lenet);
  CHECK(read_text(load.folder.file("again.params")) == read_text(folder + "LeNet-0010.params"));
}
