// What one rank computes with: device labels, their worker threads and kernels. Built in main, passed down.
#pragma once

#include <memory>
#include <vector>

#include "kernels/base/backend.hpp"
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

  // Waits for everything that was enqueued on every label.
  void wait_all();

 private:
  const Backend& cpu_kernels_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::unique_ptr<Elementwise> elementwise_;
};

}  // namespace cohort
