#include "kernels/base/stream.hpp"

#include <atomic>
#include <utility>

#include "kernels/base/compute_threads.hpp"

namespace cohort {

// A task is its own event, so that queuing makes one shared object.
struct Stream::Task final : EventState {
  bool done() const override { return ended.load(std::memory_order_acquire) != 0; }
  void wait() override { ended.wait(0, std::memory_order_acquire); }

  void run() {
    for (const Event& event : after) event->wait();
    body();
    // Whoever keeps the event must keep neither the work's buffers nor the events before it.
    body = nullptr;
    after = {};
    // Sequentially consistent: the look for waiters inside notify_all must not move before the store.
    ended.store(1, std::memory_order_seq_cst);
    ended.notify_all();
  }

  std::function<void()> body;
  std::vector<Event> after;
  std::atomic<int> ended{0};
};

Stream::Stream(std::string name) : name_(std::move(name)) {}

Stream::~Stream() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (worker_.joinable()) worker_.join();
}

Event Stream::submit(std::function<void()> task, std::vector<Event> after) {
  for (const Event& event : after)
    if (event->driven_by_caller()) event->wait();
  std::erase_if(after, [](const Event& event) { return event->done(); });
  auto queued = std::make_shared<Task>();
  queued->body = std::move(task);
  queued->after = std::move(after);
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(queued);
    if (!worker_.joinable()) worker_ = std::thread([this, threads = compute_threads()] { work(threads); });
  }
  wake_.notify_one();
  return queued;
}

void Stream::synchronize() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return tasks_.empty() && !busy_; });
}

void Stream::work(int threads) {
  set_compute_threads(threads);
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const std::shared_ptr<Task> task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    task->run();
    lock.lock();
    busy_ = false;
    if (tasks_.empty()) idle_.notify_all();
  }
}

}  // namespace cohort
