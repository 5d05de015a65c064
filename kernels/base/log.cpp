#include "kernels/base/log.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include "kernels/base/error.hpp"

namespace cohort {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

// The one process-wide state of the project: a process has one standard error and one identity.
struct LogState {
  std::mutex mutex;
  ProcessIdentity identity;
  std::unique_ptr<std::FILE, CloseFile> file;
  bool quiet = false;
};

LogState& state() {
  static LogState instance;
  return instance;
}

// One write per line, so that lines of several ranks on one terminal do not mix.
void write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // a closed terminal must not end a training run
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void set_process_identity(ProcessIdentity identity) {
  const std::lock_guard lock(state().mutex);
  state().identity = std::move(identity);
}

const ProcessIdentity& process_identity() { return state().identity; }

std::string identity_prefix() {
  const ProcessIdentity& me = process_identity();
  if (me.pid == 0) return {};
  return fmt::format("[rank {}/{} {}:{}]", me.rank, me.size, me.host, me.pid);
}

void open_log_file(const std::string& path) {
  const std::lock_guard lock(state().mutex);
  state().file.reset(std::fopen(path.c_str(), "w"));
  if (!state().file) COHORT_FAIL(io, "cannot write log file {}: {}", path, std::strerror(errno));
}

void set_log_quiet(bool quiet) {
  const std::lock_guard lock(state().mutex);
  state().quiet = quiet;
}

void log_detail::write(std::string_view text, bool always_shown) {
  const std::string line = fmt::format("{}\n", text);
  const std::lock_guard lock(state().mutex);
  if (always_shown || !state().quiet) write_whole(STDERR_FILENO, line);
  if (state().file) {
    std::fputs(line.c_str(), state().file.get());
    std::fflush(state().file.get());
  }
}

void log_warning(std::string_view text) {
  const std::string prefix = identity_prefix();
  log_detail::write(fmt::format("{}{}warning: {}", prefix, prefix.empty() ? "" : " ", text), true);
}

void log_failure(std::string_view text) {
  const std::string prefix = identity_prefix();
  log_detail::write(fmt::format("{}{}{}", prefix, prefix.empty() ? "cohort: " : " ", text), true);
}

}  // namespace cohort
