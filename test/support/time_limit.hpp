// Ends a run whose test does not end.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "kernels/base/watchdog.hpp"

namespace cohort::test {

// Calls `expired` with the test's name when more than `limit` passes between its begin() and end().
class TimeLimit {
 public:
  TimeLimit(std::chrono::seconds limit, std::function<void(const std::string&)> expired)
      : limit_(limit), expired_(std::move(expired)) {}

  void begin(const std::string& test) {
    watch_.emplace(limit_, [this, test] { expired_(test); });
  }
  void end() { watch_.reset(); }

 private:
  std::chrono::seconds limit_;
  std::function<void(const std::string&)> expired_;
  std::optional<Watchdog> watch_;
};

}  // namespace cohort::test
