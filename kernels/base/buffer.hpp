// Memory with the history that orders work on it: its last write, its reads since, its version, and its poison.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/base/stream.hpp"

namespace cohort {

// A block of memory, freed through its owner. Shared by arrays that are views of one another; neither copies nor moves.
class Buffer {
 public:
  // Zero-filled host memory, aligned to 64 bytes; pages are first touched by whoever uses them. Throws Error(memory).
  static std::shared_ptr<Buffer> allocate(std::size_t bytes);
  // Memory that somebody else allocated; `owner` is kept alive as long as the buffer.
  static std::shared_ptr<Buffer> wrap(void* data, std::size_t bytes, std::shared_ptr<void> owner);

  Buffer(void* data, std::size_t bytes, std::shared_ptr<void> owner);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // Counts completed or enqueued writes; packed copies of a parameter are keyed by it.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  // Says that the memory was written by means the buffer does not see (another rank, an executor running inline).
  void bump_version() { version_.fetch_add(1, std::memory_order_acq_rel); }

  // True when a wait could block or throw; a cheap test for callers that work inline.
  bool pending() const { return pending_.load(std::memory_order_acquire); }

  // Events a new reader (the last write) or a new writer (the last write and every read since) must come after.
  std::vector<Event> before_read() const;
  std::vector<Event> before_write() const;
  // Records work that has been enqueued. record_write raises the version.
  void record_read(Event event);
  void record_write(Event event);

  // Waits for pending writes (and reads), then throws and clears the poison, if any.
  void wait_to_read();
  void wait_to_write();

  // The error that a failed writer left here; until it is thrown at a wait, work that reads or writes the buffer is
  // skipped and hands the poison on to what it would have written. A buffer keeps the first of several errors.
  std::exception_ptr poison() const;
  void set_poison(std::exception_ptr error);
  // Takes the error away without throwing it; null when there is none.
  std::exception_ptr take_poison();

 private:
  friend Event submit_ordered(Stream& stream, std::span<Buffer* const> reads, std::span<Buffer* const> writes,
                              std::function<void()> task);

  // With mutex_ held.
  void collect(std::vector<Event>& events, bool for_write) const;
  void add_read(Event event);
  void add_write(Event event);
  std::exception_ptr settle();

  void* data_;
  std::size_t bytes_;
  std::shared_ptr<void> owner_;
  std::atomic<std::uint64_t> version_{0};
  std::atomic<bool> pending_{false};
  mutable std::mutex mutex_;
  Event last_write_;
  std::vector<Event> reads_;
  std::exception_ptr poison_;
};

// Queues `task` on `stream` after everything it must come after by what it reads and writes, and records it there, in
// one step: threads that enqueue on the same buffers at the same time get one order for all of them. A buffer may be
// named in both lists or twice; it counts once, as written if it is anywhere. Events driven by their caller are waited
// for here. Poison is the caller's business (Context::enqueue); the task keeps its buffers alive itself.
Event submit_ordered(Stream& stream, std::span<Buffer* const> reads, std::span<Buffer* const> writes,
                     std::function<void()> task);

}  // namespace cohort
