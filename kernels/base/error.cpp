#include "kernels/base/error.hpp"

namespace cohort {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::check: return "check";
    case ErrorKind::mpi: return "mpi";
    case ErrorKind::onednn: return "onednn";
    case ErrorKind::cuda: return "cuda";
    case ErrorKind::io: return "io";
    case ErrorKind::timeout: return "timeout";
    case ErrorKind::memory: return "memory";
  }
  return "unknown";
}

Error::Error(ErrorKind kind, std::string message, std::string place)
    : kind_(kind), message_(std::move(message)), place_(std::move(place)) {
  compose();
}

Error& Error::add_context(std::string_view doing) {
  context_ += fmt::format(" while {}", doing);
  compose();
  return *this;
}

std::string Error::details() const { return (place_.empty() ? std::string() : " at " + place_) + context_; }

void Error::compose() {
  // A usage error is the user's own line: no kind, no place in our source.
  text_ = kind_ == ErrorKind::usage ? message_ : fmt::format("{}: {}", to_string(kind_), message_);
  text_ += details();
}

std::string source_place(std::string_view file, int line) {
  constexpr std::string_view root = COHORT_SOURCE_ROOT;
  if (file.substr(0, root.size()) == root) file.remove_prefix(root.size());
  return fmt::format("{}:{}", file, line);
}

}  // namespace cohort
