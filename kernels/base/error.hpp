// The project's one exception type and its check.
//
// Every failure that reaches a user is one line: what failed, the words of the library where one is involved, what
// the program was doing, and the place in the source. The process's rank, host and pid are put in front by log.hpp.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace cohort {

// What kind of thing went wrong. `usage` is the caller's mistake in flags, names or files (exit code 2); every other
// kind ends the job with exit code 1.
enum class ErrorKind { usage, check, mpi, onednn, cuda, io, timeout, memory };

std::string_view to_string(ErrorKind kind);

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message, std::string place = {});

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& message() const noexcept { return message_; }
  // What follows the message in what(): the place, where there is one to say, and what the program was doing.
  std::string details() const;
  const char* what() const noexcept override { return text_.c_str(); }

  // Adds "while <doing>" after the place. Called where an error passes through a kvstore verb or a training step.
  Error& add_context(std::string_view doing);

 private:
  void compose();

  ErrorKind kind_;
  std::string message_;
  std::string place_;
  std::string context_;
  std::string text_;
};

// "kernels/base/error.hpp:42" for a __FILE__ and __LINE__, relative to the repository root.
std::string source_place(std::string_view file, int line);

// Throws the caller's mistake as a usage error: wrong flag, unknown name, missing or malformed file.
template <class... Args>
[[noreturn]] void throw_usage(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::usage, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace cohort

// Guards what a caller has promised; stays on in release builds. The message says what was expected and what came.
#define COHORT_CHECK(condition, ...)                                                \
  do {                                                                              \
    if (!(condition)) [[unlikely]]                                                  \
      throw ::cohort::Error(::cohort::ErrorKind::check, ::fmt::format(__VA_ARGS__), \
                            ::cohort::source_place(__FILE__, __LINE__));            \
  } while (false)

// Throws an error of a kind with the place of the call.
#define COHORT_FAIL(kind, ...)                                                 \
  throw ::cohort::Error(::cohort::ErrorKind::kind, ::fmt::format(__VA_ARGS__), \
                        ::cohort::source_place(__FILE__, __LINE__))
