// In-order queues of work and the events that say when work is done.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cohort {

// Completion of one piece of work. Shared by everybody who waits for it; all calls are thread-safe.
class EventState {
 public:
  virtual ~EventState() = default;
  virtual bool done() const = 0;
  // Blocks until the work has ended, well or badly; never throws the work's own error (see Buffer).
  virtual void wait() = 0;
  // True when nobody but a waiting caller makes the work advance (a round of the store without a worker thread). A
  // stream's worker must not wait for such an event: whoever enqueues waits first, in the caller's thread.
  virtual bool driven_by_caller() const { return false; }
};
using Event = std::shared_ptr<EventState>;

// A queue whose tasks run one after the other on one worker thread. The worker starts with the first task, computes
// with as many threads as the thread that queued it, and flushes denormals. Destruction runs what is queued, then
// joins. All calls are thread-safe; none may come from a task of the same stream.
class Stream {
 public:
  explicit Stream(std::string name);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Queues `task` to run after everything queued here and after every event of `after`; returns at once, but for events
  // driven by their caller, which are waited for here. A task must not throw: errors travel through the buffers it
  // writes.
  Event submit(std::function<void()> task, std::vector<Event> after = {});

  // Blocks until the queue is empty and the worker idle.
  void synchronize();

  const std::string& name() const { return name_; }

 private:
  struct Task;
  void work(int threads);

  std::string name_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<std::shared_ptr<Task>> tasks_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread worker_;
};

}  // namespace cohort
