// Buffers: memory, versions, the events that order work, and poison.
#include "kernels/base/buffer.hpp"

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <thread>

#include "kernels/base/error.hpp"
#include "test/support/catch.hpp"
#include "test/support/gate.hpp"

using cohort::Buffer;
using cohort::Event;
using cohort::EventState;
using cohort::Stream;
using cohort::submit_ordered;
using cohort::test::Gate;

namespace {

// An event a test ends by hand; waiting for it ends it too, and is counted.
class ManualEvent final : public EventState {
 public:
  explicit ManualEvent(bool by_caller = false) : by_caller_(by_caller) {}
  bool done() const override { return ended; }
  void wait() override {
    if (on_wait) on_wait();
    ended = true;
    ++waits;
  }
  bool driven_by_caller() const override { return by_caller_; }

  bool ended = false;
  int waits = 0;
  std::function<void()> on_wait;

 private:
  bool by_caller_;
};

std::exception_ptr error(const char* text) { return std::make_exception_ptr(std::runtime_error(text)); }

}  // namespace

TEST_CASE("memory is aligned and zero") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{1} << 20}) {
    const auto buffer = Buffer::allocate(bytes);
    CHECK(buffer->bytes() == bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64 == 0);
    const auto* data = static_cast<const unsigned char*>(buffer->data());
    CHECK(std::all_of(data, data + bytes, [](unsigned char c) { return c == 0; }));
  }
}

TEST_CASE("memory that there is not is said in bytes") {
  CHECK_THROWS_AS(Buffer::allocate(std::numeric_limits<std::size_t>::max()), cohort::Error);
}

TEST_CASE("a wrapped buffer keeps its owner") {
  auto owner = std::make_shared<int>(3);
  const std::weak_ptr<int> alive = owner;
  auto buffer = Buffer::wrap(owner.get(), sizeof(int), owner);
  owner.reset();
  CHECK(*static_cast<int*>(buffer->data()) == 3);
  buffer.reset();
  CHECK(alive.expired());
}

TEST_CASE("a reader comes after the last write, a writer after the reads since as well") {
  const auto buffer = Buffer::allocate(4);
  const auto write = std::make_shared<ManualEvent>();
  const auto read = std::make_shared<ManualEvent>();
  const auto other_read = std::make_shared<ManualEvent>();
  buffer->record_write(write);
  CHECK(buffer->before_read() == std::vector<Event>{write});
  buffer->record_read(read);
  buffer->record_read(other_read);
  CHECK(buffer->before_read() == std::vector<Event>{write});
  CHECK(buffer->before_write() == std::vector<Event>{write, read, other_read});
  read->ended = true;
  CHECK(buffer->before_write() == std::vector<Event>{write, other_read});
  const auto next = std::make_shared<ManualEvent>();
  buffer->record_write(next);
  CHECK(buffer->before_write() == std::vector<Event>{next});
  next->ended = true;
  CHECK(buffer->before_write().empty());
}

TEST_CASE("waiting to read leaves reads alone, waiting to write does not") {
  const auto buffer = Buffer::allocate(4);
  const auto write = std::make_shared<ManualEvent>();
  const auto read = std::make_shared<ManualEvent>();
  CHECK_FALSE(buffer->pending());
  buffer->record_write(write);
  buffer->record_read(read);
  CHECK(buffer->pending());
  buffer->wait_to_read();
  CHECK(write->waits == 1);
  CHECK(read->waits == 0);
  CHECK(buffer->pending());
  buffer->wait_to_write();
  CHECK(write->waits == 1);
  CHECK(read->waits == 1);
  CHECK_FALSE(buffer->pending());
}

TEST_CASE("writes raise the version, reads do not") {
  const auto buffer = Buffer::allocate(4);
  CHECK(buffer->version() == 0);
  buffer->record_read(std::make_shared<ManualEvent>());
  CHECK(buffer->version() == 0);
  buffer->record_write(std::make_shared<ManualEvent>());
  CHECK(buffer->version() == 1);
  buffer->bump_version();
  CHECK(buffer->version() == 2);
}

TEST_CASE("a buffer that is only read does not collect finished reads") {
  const auto buffer = Buffer::allocate(4);
  std::vector<std::weak_ptr<EventState>> events;
  for (int i = 0; i < 1000; ++i) {
    const auto read = std::make_shared<ManualEvent>();
    read->ended = true;
    buffer->record_read(read);
    events.push_back(std::weak_ptr<EventState>(read));
  }
  CHECK(std::count_if(events.begin(), events.end(), [](const auto& event) { return !event.expired(); }) < 10);
}

TEST_CASE("poison is thrown once, at a wait; the first one stays") {
  const auto buffer = Buffer::allocate(4);
  CHECK(buffer->poison() == nullptr);
  buffer->set_poison(error("first"));
  buffer->set_poison(error("second"));
  CHECK(buffer->pending());
  CHECK(buffer->poison() != nullptr);
  CHECK_THROWS_WITH(buffer->wait_to_read(), "first");
  CHECK_FALSE(buffer->pending());
  CHECK_NOTHROW(buffer->wait_to_write());
  buffer->set_poison(error("third"));
  CHECK_THROWS_WITH(buffer->wait_to_write(), "third");
  buffer->set_poison(error("fourth"));
  CHECK(buffer->take_poison() != nullptr);
  CHECK_NOTHROW(buffer->wait_to_read());
}

TEST_CASE("ordered work follows what its buffers say, and is recorded on them") {
  Stream stream("s"), other("o");
  const auto a = Buffer::allocate(4);
  const auto b = Buffer::allocate(4);
  Gate gate;
  Buffer* const both[] = {a.get(), b.get()};
  const std::span<Buffer*const> only_a(both, 1), only_b(both + 1, 1);
  const Event first = submit_ordered(stream, {}, only_a, [&] { gate.wait(); });
  const Event second = submit_ordered(other, only_a, only_b, [] {});
  CHECK(a->before_write() == std::vector<Event>{first, second});
  CHECK(b->before_read() == std::vector<Event>{second});
  CHECK_FALSE(second->done());
  gate.open();
  second->wait();
  CHECK(first->done());
}

TEST_CASE("a buffer named twice counts once, as written if it is anywhere") {
  Stream stream("s");
  const auto a = Buffer::allocate(4);
  Buffer* const twice[] = {a.get(), a.get()};
  const Event event = submit_ordered(stream, twice, twice, [] {});
  CHECK(a->version() == 1);
  submit_ordered(stream, twice, {}, [] {})->wait();
  CHECK(a->version() == 1);
  CHECK(event->done());
}

TEST_CASE("ordered work waits here for what its caller drives, which may use the buffers meanwhile") {
  Stream stream("s");
  const auto a = Buffer::allocate(4);
  Buffer* const one[] = {a.get()};
  const auto round = std::make_shared<ManualEvent>(true);
  round->on_wait = [&] { a->record_read(std::make_shared<ManualEvent>(true)); };
  a->record_write(round);
  bool done = false;
  submit_ordered(stream, {}, one, [&] { done = round->done(); })->wait();
  CHECK(round->waits == 1);
  CHECK(done);
}
