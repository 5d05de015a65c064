#include "kernels/base/log.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include "kernels/base/error.hpp"
#include "kernels/base/files.hpp"

namespace cohort {
namespace {

// The one process-wide state of the project: a process has one standard error and one identity.
struct LogState {
  std::mutex mutex;
  ProcessIdentity identity;
  FilePointer file;
  bool quiet = false;
};

LogState& state() {
  static LogState instance;
  return instance;
}

// One write per line, so that lines of several ranks on one terminal do not mix. False, with errno set, on failure.
bool write_whole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
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
  state().file = open_for_writing(path);
  if (!state().file) COHORT_FAIL(io, "cannot write log file {}: {}", path, std::strerror(errno));
}

void set_log_quiet(bool quiet) {
  const std::lock_guard lock(state().mutex);
  state().quiet = quiet;
}

void print_output(std::string_view text) {
  if (!write_whole(STDOUT_FILENO, text)) COHORT_FAIL(io, "cannot write to standard output: {}", std::strerror(errno));
}

std::string one_line(std::string_view text) {
  constexpr std::size_t most = 2000;
  std::string line;
  for (const char c : text.substr(0, most)) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n')
      line += "\\n";
    else if (code < 0x20 || code == 0x7f)
      line += fmt::format("\\x{:02x}", code);
    else
      line += c;
  }
  if (text.size() > most) line += fmt::format("... ({} characters)", text.size());
  return line;
}

void log_detail::write(std::string_view text, bool always_shown) {
  const std::string line = fmt::format("{}\n", text);
  const std::lock_guard lock(state().mutex);
  // A closed terminal must not end a training run.
  if (always_shown || !state().quiet) static_cast<void>(write_whole(STDERR_FILENO, line));
  if (state().file) {
    const bool kept = std::fputs(line.c_str(), state().file.get()) >= 0 && std::fflush(state().file.get()) == 0;
    if (kept) return;
    const std::string warning = fmt::format("warning: the log file ends here: {}\n", std::strerror(errno));
    static_cast<void>(write_whole(STDERR_FILENO, warning));
    state().file.reset();
  }
}

void log_warning(std::string_view text) {
  const std::string prefix = identity_prefix();
  log_detail::write(fmt::format("{}{}warning: {}", prefix, prefix.empty() ? "" : " ", one_line(text)), true);
}

void log_failure(std::string_view text) {
  const std::string prefix = identity_prefix();
  log_detail::write(fmt::format("{}{}{}", prefix, prefix.empty() ? "cohort: " : " ", one_line(text)), true);
}

}  // namespace cohort
