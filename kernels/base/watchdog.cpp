#include "kernels/base/watchdog.hpp"

#include <utility>

namespace cohort {

Watchdog::Watchdog(std::chrono::milliseconds limit, std::function<void()> expired)
    : thread_([this, limit, expired = std::move(expired)] {
        std::unique_lock lock(mutex_);
        const bool in_time = changed_.wait_for(lock, limit, [this] { return over_; });
        lock.unlock();
        if (!in_time) expired();
      }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

}  // namespace cohort
