#include "kernels/base/buffer.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "kernels/base/error.hpp"

namespace cohort {
namespace {

constexpr std::size_t alignment = 64;

bool finished(const Event& event) { return event->done(); }

// One buffer of an ordered piece of work.
struct Use {
  Buffer* buffer;
  bool write;
};

// Each buffer once, in address order: the order in which everybody locks.
void arrange(std::vector<Use>& uses) {
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) {
    return a.buffer != b.buffer ? std::less<>()(a.buffer, b.buffer) : a.write > b.write;
  });
  const auto same = [](const Use& a, const Use& b) { return a.buffer == b.buffer; };
  uses.erase(std::unique(uses.begin(), uses.end(), same), uses.end());
}

// Holds the mutexes of all uses, which are in address order.
template <class MutexOf>
class AllLocked {
 public:
  AllLocked(const std::vector<Use>& uses, MutexOf mutex_of) : uses_(uses), mutex_of_(mutex_of) {
    for (const Use& use : uses_) mutex_of_(use).lock();
  }
  ~AllLocked() {
    for (const Use& use : uses_) mutex_of_(use).unlock();
  }
  AllLocked(const AllLocked&) = delete;
  AllLocked& operator=(const AllLocked&) = delete;

 private:
  const std::vector<Use>& uses_;
  MutexOf mutex_of_;
};

}  // namespace

std::shared_ptr<Buffer> Buffer::allocate(std::size_t bytes) {
  // calloc leaves large blocks untouched, which an aligned allocation cleared by hand would not.
  void* block = nullptr;
  if (bytes <= std::numeric_limits<std::size_t>::max() - alignment) block = std::calloc(bytes + alignment, 1);
  if (block == nullptr) COHORT_FAIL(memory, "cannot allocate {} bytes", bytes);
  std::shared_ptr<void> owner(block, std::free);
  void* aligned = block;
  std::size_t room = bytes + alignment;
  std::align(alignment, bytes, aligned, room);
  return std::make_shared<Buffer>(aligned, bytes, std::move(owner));
}

std::shared_ptr<Buffer> Buffer::wrap(void* data, std::size_t bytes, std::shared_ptr<void> owner) {
  return std::make_shared<Buffer>(data, bytes, std::move(owner));
}

Buffer::Buffer(void* data, std::size_t bytes, std::shared_ptr<void> owner)
    : data_(data), bytes_(bytes), owner_(std::move(owner)) {}

void Buffer::collect(std::vector<Event>& events, bool for_write) const {
  if (last_write_ && !last_write_->done()) events.push_back(last_write_);
  if (!for_write) return;
  for (const Event& read : reads_)
    if (!read->done()) events.push_back(read);
}

void Buffer::add_read(Event event) {
  // A buffer that is read over and over, and never written, must not collect its history.
  if (reads_.size() == reads_.capacity()) std::erase_if(reads_, finished);
  reads_.push_back(std::move(event));
  pending_.store(true, std::memory_order_release);
}

void Buffer::add_write(Event event) {
  last_write_ = std::move(event);
  reads_.clear();  // the write comes after them
  pending_.store(true, std::memory_order_release);
  bump_version();
}

std::vector<Event> Buffer::before_read() const {
  const std::lock_guard lock(mutex_);
  std::vector<Event> events;
  collect(events, false);
  return events;
}

std::vector<Event> Buffer::before_write() const {
  const std::lock_guard lock(mutex_);
  std::vector<Event> events;
  collect(events, true);
  return events;
}

void Buffer::record_read(Event event) {
  const std::lock_guard lock(mutex_);
  add_read(std::move(event));
}

void Buffer::record_write(Event event) {
  const std::lock_guard lock(mutex_);
  add_write(std::move(event));
}

std::exception_ptr Buffer::settle() {
  if (last_write_ && last_write_->done()) last_write_.reset();
  std::erase_if(reads_, finished);
  std::exception_ptr error = std::exchange(poison_, nullptr);
  pending_.store(last_write_ != nullptr || !reads_.empty(), std::memory_order_release);
  return error;
}

void Buffer::wait_to_read() {
  if (!pending()) return;
  for (const Event& event : before_read()) event->wait();
  if (const std::exception_ptr error = take_poison()) std::rethrow_exception(error);
}

void Buffer::wait_to_write() {
  if (!pending()) return;
  for (const Event& event : before_write()) event->wait();
  if (const std::exception_ptr error = take_poison()) std::rethrow_exception(error);
}

std::exception_ptr Buffer::poison() const {
  const std::lock_guard lock(mutex_);
  return poison_;
}

void Buffer::set_poison(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (!poison_) poison_ = std::move(error);
  pending_.store(true, std::memory_order_release);
}

std::exception_ptr Buffer::take_poison() {
  const std::lock_guard lock(mutex_);
  return settle();
}

Event submit_ordered(Stream& stream, std::span<Buffer* const> reads, std::span<Buffer* const> writes,
                     std::function<void()> task) {
  std::vector<Use> uses;
  uses.reserve(reads.size() + writes.size());
  for (Buffer* buffer : reads) uses.push_back({buffer, false});
  for (Buffer* buffer : writes) uses.push_back({buffer, true});
  arrange(uses);
  std::vector<Event> after;
  while (true) {
    Event by_caller;
    {
      const AllLocked lock(uses, [](const Use& use) -> std::mutex& { return use.buffer->mutex_; });
      after.clear();
      for (const Use& use : uses) use.buffer->collect(after, use.write);
      for (const Event& event : after)
        if (event->driven_by_caller()) by_caller = event;
      if (!by_caller) {
        Event event = stream.submit(std::move(task), std::move(after));
        for (const Use& use : uses) use.write ? use.buffer->add_write(event) : use.buffer->add_read(event);
        return event;
      }
    }
    by_caller->wait();  // without the locks, since its work may need these buffers
  }
}

}  // namespace cohort
