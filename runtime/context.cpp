#include "runtime/context.hpp"

#include <string>
#include <utility>

#include "kernels/base/error.hpp"

namespace cohort {
namespace {

bool same_buffer(const std::weak_ptr<Buffer>& a, const std::weak_ptr<Buffer>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

}  // namespace

// One enqueued call with what it holds on to: the buffers it reads, then those it writes.
struct Context::Job {
  Context* context;
  std::vector<std::shared_ptr<Buffer>> buffers;
  std::size_t reads;
  std::function<void()> task;

  std::exception_ptr run() const {
    for (const auto& buffer : buffers)
      if (std::exception_ptr error = buffer->poison()) return error;
    try {
      task();
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  void operator()() const {
    if (const std::exception_ptr error = run())
      for (std::size_t i = reads; i < buffers.size(); ++i) context->poison(buffers[i], error);
  }
};

Context::Context(const Backend& cpu_kernels, int cpu_labels)
    : cpu_kernels_(cpu_kernels), elementwise_(cpu_kernels.elementwise()) {
  COHORT_CHECK(cpu_labels >= 1, "a context has at least one cpu label, not {}", cpu_labels);
  for (int id = 0; id < cpu_labels; ++id) streams_.push_back(std::make_unique<Stream>(to_string(cpu(id))));
}

Context::~Context() {
  // Every queue runs empty first: a task may wait for one of another label.
  for (const auto& stream : streams_) stream->synchronize();
}

void Context::check_label(Device device) const {
  if (device.kind == DeviceKind::cpu && device.id >= 0 && device.id < cpu_labels()) return;
  if (cpu_labels() == 1) throw_usage("there is no device {}; this job has cpu(0)", to_string(device));
  throw_usage("there is no device {}; this job has cpu(0) to cpu({})", to_string(device), cpu_labels() - 1);
}

Stream& Context::stream(Device device) {
  check_label(device);
  return *streams_[static_cast<std::size_t>(device.id)];
}

const Backend& Context::backend(Device device) const {
  check_label(device);
  return cpu_kernels_;
}

Elementwise& Context::elementwise(Device device) const {
  check_label(device);
  return *elementwise_;
}

Event Context::enqueue(Device device, Buffers reads, Buffers writes, std::function<void()> task) {
  Stream& worker = stream(device);
  Job job{this, {}, reads.size(), std::move(task)};
  job.buffers.reserve(reads.size() + writes.size());
  job.buffers.insert(job.buffers.end(), reads.begin(), reads.end());
  job.buffers.insert(job.buffers.end(), writes.begin(), writes.end());
  std::vector<Buffer*> plain;
  plain.reserve(job.buffers.size());
  for (const auto& buffer : job.buffers) plain.push_back(buffer.get());
  const std::span<Buffer* const> all(plain);
  return submit_ordered(worker, all.first(reads.size()), all.subspan(reads.size()), std::move(job));
}

void Context::poison(const std::shared_ptr<Buffer>& buffer, const std::exception_ptr& error) {
  const std::lock_guard lock(poisoned_mutex_);
  buffer->set_poison(error);
  bool known = false;
  bool gone = false;
  std::erase_if(poisoned_, [&](const Poisoned& entry) {
    known = known || same_buffer(entry.buffer, buffer);
    // An array that is gone stands for its error, but one such entry is enough.
    return entry.error == error && entry.buffer.expired() && std::exchange(gone, true);
  });
  if (!known) poisoned_.push_back({buffer, error});
}

void Context::forget(const std::shared_ptr<Buffer>& buffer) {
  const std::lock_guard lock(poisoned_mutex_);
  std::erase_if(poisoned_, [&](const Poisoned& entry) { return same_buffer(entry.buffer, buffer); });
}

void Context::wait_all() {
  for (const auto& stream : streams_) stream->synchronize();
  const std::lock_guard lock(poisoned_mutex_);
  std::exception_ptr first;
  for (const Poisoned& entry : poisoned_) {
    const auto buffer = entry.buffer.lock();
    const std::exception_ptr error = buffer ? buffer->take_poison() : entry.error;
    if (!first) first = error;
  }
  poisoned_.clear();
  if (first) std::rethrow_exception(first);
}

void Context::wait_to_read(const std::shared_ptr<Buffer>& buffer) {
  try {
    buffer->wait_to_read();
  } catch (...) {
    forget(buffer);
    throw;
  }
}

void Context::wait_to_write(const std::shared_ptr<Buffer>& buffer) {
  try {
    buffer->wait_to_write();
  } catch (...) {
    forget(buffer);
    throw;
  }
}

}  // namespace cohort
