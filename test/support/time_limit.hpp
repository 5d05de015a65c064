// Ends a run whose test does not end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace cohort::test {

// Between begin() and end() of a test a thread watches the clock; past the limit it calls `expired` with the test's
// name, once. Neither copies nor moves.
class TimeLimit {
 public:
  TimeLimit(std::chrono::seconds limit, std::function<void(const std::string&)> expired)
      : limit_(limit), expired_(std::move(expired)), thread_([this] { watch(); }) {}
  ~TimeLimit() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  void begin(std::string test) {
    const std::lock_guard lock(mutex_);
    test_ = std::move(test);
    deadline_ = std::chrono::steady_clock::now() + limit_;
    changed_.notify_one();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    test_.clear();
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      if (test_.empty()) {
        changed_.wait(lock);
      } else if (changed_.wait_until(lock, deadline_) == std::cv_status::timeout && !test_.empty() &&
                 std::chrono::steady_clock::now() >= deadline_) {
        expired_(test_);
        return;
      }
    }
  }

  std::chrono::seconds limit_;
  std::function<void(const std::string&)> expired_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string test_;
  std::chrono::steady_clock::time_point deadline_{};
  bool stop_ = false;
  std::thread thread_;  // last: starts when the rest is there
};

}  // namespace cohort::test
