// Numbers in text, text on one line, and files that are opened without waiting.
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "kernels/base/error.hpp"
#include "kernels/base/files.hpp"
#include "kernels/base/log.hpp"
#include "kernels/base/numbers.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"

using namespace cohort;
using namespace cohort::test;

TEST_CASE("a number is all of its text, in decimal, and fits its type") {
  CHECK(parse_number<int>("17") == 17);
  CHECK(parse_number<int>("+17") == 17);
  CHECK(parse_number<int>("-17") == -17);
  CHECK(parse_number<int>("010") == 10);
  CHECK(parse_number<double>("1e-3") == 1e-3);
  CHECK(parse_number<std::int64_t>("9223372036854775807") == INT64_MAX);
  for (const char* text : {"", "+", "-", "+-1", " 1", "1 ", "0x10", "1.5", "1e3", "99999999999", "nan", "one"}) {
    INFO(text);
    CHECK(!parse_number<int>(text));
  }
  for (const char* text : {"", "1.2.3", "1,5", "0x10", "1e999", "1f"}) {
    INFO(text);
    CHECK(!parse_number<double>(text));
  }
}

TEST_CASE("a message is one line of bounded length") {
  CHECK(one_line("plain, with \xc3\xa4") == "plain, with \xc3\xa4");
  CHECK(one_line("two\nlines\tand\x1b[1m") == "two\\nlines\\x09and\\x1b[1m");
  const std::string line = one_line(std::string(1'000'000, 'x'));
  CHECK(line.size() < 2100);
  CHECK(line.ends_with("... (1000000 characters)"));
}

TEST_CASE("files are opened without waiting for anybody") {
  const TemporaryFolder folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(open_for_writing(pipe) == nullptr);
  CHECK(errno == ENXIO);
  const auto refusal = [](const std::string& path) -> std::string {
    try {
      open_regular(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal(pipe) == "cannot read " + pipe + ": not a regular file");
  CHECK(refusal("/dev/zero") == "cannot read /dev/zero: not a regular file");
  CHECK(refusal(folder.file("none")) == "cannot read " + folder.file("none") + ": No such file or directory");
  CHECK(refusal(folder.file("")) == "cannot read " + folder.file("") + ": Is a directory");

  const std::string path = folder.file("plain");
  for (const char* text : {"longer", "short"}) {  // the second opening empties the file
    const FilePointer file = open_for_writing(path);
    REQUIRE(file);
    CHECK(std::fputs(text, file.get()) >= 0);
  }
  char read[16] = {};
  const FilePointer file = open_regular(path);
  CHECK(std::fread(read, 1, sizeof read, file.get()) == 5);
  CHECK(std::string(read) == "short");
}
