// Files that exist whole or not at all.
#include "kernels/base/atomic_file.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "kernels/base/error.hpp"
#include "test/support/catch.hpp"
#include "test/support/temporary_folder.hpp"

using cohort::AtomicFile;
using cohort::Error;
using cohort::test::read_text;
using cohort::test::TemporaryFolder;
using cohort::test::write_text;

namespace {

// While it lives, no file of this process grows beyond `bytes`: a write fails as it does on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_signal_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_{};
  void (*old_signal_)(int);
};

// A disk of 64 KiB mounted on `folder` while it lives, where the process may do so.
class SmallDisk {
 public:
  explicit SmallDisk(std::string folder)
      : folder_(std::move(folder)), mounted_(::mount("none", folder_.c_str(), "tmpfs", 0, "size=64k") == 0) {}
  ~SmallDisk() {
    if (mounted_) ::umount(folder_.c_str());
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  std::string folder_;
  bool mounted_;
};

bool knows_nameless_files(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (descriptor >= 0) ::close(descriptor);
  return descriptor >= 0;
}

// Writes `bytes` bytes; the text of the error, or nothing.
std::optional<std::string> save(const std::string& path, std::size_t bytes) {
  try {
    AtomicFile file(path);
    file.write(std::string(bytes, 'x'));
    file.commit();
    return std::nullopt;
  } catch (const Error& error) {
    CHECK(error.kind() == cohort::ErrorKind::io);
    return error.message();
  }
}

}  // namespace

TEST_CASE("a committed file has what was written, and no other file is left") {
  TemporaryFolder folder;
  const std::string path = folder.file("a");
  write_text(path, "old and longer");
  {
    AtomicFile file(path);
    file.write("one ");
    file.write("", 0);
    file.write("two");
    CHECK(read_text(path) == "old and longer");
    file.commit();
    CHECK(read_text(path) == "one two");
  }
  CHECK(read_text(path) == "one two");
  CHECK(folder.entries() == 1);
}

TEST_CASE("without commit the old file stays") {
  TemporaryFolder folder;
  const std::string path = folder.file("a");
  write_text(path, "old");
  {
    AtomicFile file(path);
    file.write("new");
    CHECK(folder.entries() == (knows_nameless_files(folder.file("")) ? 1 : 2));
  }
  CHECK(read_text(path) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("a file with no room to grow is named, and leaves nothing behind") {
  TemporaryFolder folder;
  const std::string path = folder.file("a");
  const FileSizeLimit limit(65536);
  // Small ones fail when they are flushed, large ones while they are written.
  for (const std::size_t bytes : {std::size_t{65537}, std::size_t{1} << 20})
    CHECK(save(path, bytes) == "cannot write " + path + ": File too large");
  CHECK(folder.entries() == 0);
  CHECK(save(path, 65536) == std::nullopt);
}

TEST_CASE("a full disk is named, and leaves nothing behind") {
  TemporaryFolder folder;
  const SmallDisk disk(folder.file(""));
  if (!disk.mounted()) {
    WARN("skipped: this process may not mount a small disk");
    return;
  }
  const std::string path = folder.file("a");
  write_text(path, "old");
  CHECK(save(path, 1 << 20) == "cannot write " + path + ": No space left on device");
  CHECK(read_text(path) == "old");
  CHECK(folder.entries() == 1);
}

TEST_CASE("paths that cannot be written are named") {
  TemporaryFolder folder;
  const std::string nowhere = folder.file("none/a");
  CHECK(save(nowhere, 1) == "cannot write " + nowhere + ": No such file or directory");
  // A folder in the file's place is found out at the rename.
  const std::string occupied = folder.file("folder");
  std::filesystem::create_directory(occupied);
  const auto text = save(occupied, 1);
  REQUIRE(text);
  CHECK(text->find(occupied + ": Is a directory") != std::string::npos);
  CHECK(folder.entries() == 1);
}

TEST_CASE("using a committed file is the caller's mistake") {
  TemporaryFolder folder;
  AtomicFile file(folder.file("a"));
  file.commit();
  CHECK_THROWS_AS(file.write("more"), Error);
  CHECK_THROWS_AS(file.commit(), Error);
}
