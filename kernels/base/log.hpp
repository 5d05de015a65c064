// Lines to standard error and, when asked for, to a file of this rank's own; answers to standard output.
//
// The process's identity is set once, after MPI has started; until then lines carry none.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace cohort {

// Who this process is, as shown in failure lines: "[rank 3/8 node17:4122]".
struct ProcessIdentity {
  int rank = 0;
  int size = 1;
  std::string host;
  long pid = 0;
};

void set_process_identity(ProcessIdentity identity);
const ProcessIdentity& process_identity();

// "[rank 3/8 node17:4122]", or "" for a process that runs alone.
std::string identity_prefix();

// Copies every later line of this process to `path` too (created or truncated). Throws Error(io).
void open_log_file(const std::string& path);

// With false, log_info lines go to the log file alone; warnings and failures are always shown.
void set_log_quiet(bool quiet);

namespace log_detail {
void write(std::string_view text, bool always_shown);
}

// Text that was asked for, to standard output. Throws Error(io) when it cannot be written there.
void print_output(std::string_view text);

// A line as it is, without prefix, in one write. For output that scripts parse.
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_detail::write(fmt::format(format, std::forward<Args>(args)...), false);
}

// Text on one line of bounded length, whatever names it quotes: control characters are shown as escapes.
std::string one_line(std::string_view text);

// "warning: ..." with this process's identity.
void log_warning(std::string_view text);

// The failure line of this process: identity prefix and text.
void log_failure(std::string_view text);

}  // namespace cohort
