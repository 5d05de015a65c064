// What one rank computes with: device labels, their worker threads and kernels. Built in main, passed down.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/base/backend.hpp"
#include "kernels/base/buffer.hpp"
#include "kernels/base/device.hpp"
#include "kernels/base/stream.hpp"
#include "kernels/elementwise.hpp"

namespace cohort {

// Arrays keep a reference to their context, which outlives them. Neither copies nor moves.
class Context {
 public:
  // One stream per CPU label, cpu(0) to cpu(labels-1). Worker threads start with a stream's first task.
  explicit Context(const Backend& cpu_kernels, int cpu_labels = 1);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  int cpu_labels() const { return static_cast<int>(streams_.size()); }
  // Throws Error(usage) naming the labels there are.
  Stream& stream(Device device);
  const Backend& backend(Device device) const;
  Elementwise& elementwise(Device device) const;

  // Queues `task` on the label's worker after everything it must come after by the buffers it reads and writes, and
  // keeps these alive until it has run. If one of them is poisoned when its turn comes, the task is skipped and its
  // writes inherit the poison; if it throws, its error poisons its writes.
  using Buffers = std::span<const std::shared_ptr<Buffer>>;
  Event enqueue(Device device, Buffers reads, Buffers writes, std::function<void()> task);

  // Waits for everything that was enqueued on every label; then throws the first error that is stored in an array and
  // has not been thrown at a wait of that array, and clears all of them.
  void wait_all();

  // Waits for one buffer as Buffer::wait_to_read and wait_to_write do; an error thrown here is no longer wait_all's.
  void wait_to_read(const std::shared_ptr<Buffer>& buffer);
  void wait_to_write(const std::shared_ptr<Buffer>& buffer);

 private:
  struct Job;
  struct Poisoned {
    std::weak_ptr<Buffer> buffer;
    std::exception_ptr error;
  };
  void check_label(Device device) const;
  void poison(const std::shared_ptr<Buffer>& buffer, const std::exception_ptr& error);
  void forget(const std::shared_ptr<Buffer>& buffer);

  const Backend& cpu_kernels_;
  std::unique_ptr<Elementwise> elementwise_;
  std::mutex poisoned_mutex_;
  std::vector<Poisoned> poisoned_;  // in the order of failing
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace cohort
