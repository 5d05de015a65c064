// Streams: order, dependencies between queues, and what a finished task lets go of.
#include "kernels/base/stream.hpp"

#include <omp.h>

#include <atomic>
#include <cfloat>
#include <thread>

#include "kernels/base/compute_threads.hpp"
#include "test/support/catch.hpp"
#include "test/support/gate.hpp"

using cohort::Event;
using cohort::EventState;
using cohort::Stream;
using cohort::test::Gate;

namespace {

// Done once somebody has waited for it, like a round that only its caller drives.
class CallerEvent final : public EventState {
 public:
  bool done() const override { return waited_by != std::thread::id(); }
  void wait() override { waited_by = std::this_thread::get_id(); }
  bool driven_by_caller() const override { return true; }

  std::thread::id waited_by;
};

// Threads of the team that flush. Not a local of the test: the thread sanitizer does not see the OpenMP library hand a
// local to its team.
std::atomic<int> flushed{0};

}  // namespace

TEST_CASE("tasks run one after the other, in the order they were queued") {
  std::vector<int> order;
  Stream stream("s");
  for (int i = 0; i < 1000; ++i) stream.submit([&order, i] { order.push_back(i); });
  stream.synchronize();
  REQUIRE(order.size() == 1000);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("submit returns before the task has run, and the event follows the task") {
  Stream stream("s");
  Gate gate;
  bool ran = false;
  const Event event = stream.submit([&] {
    gate.wait();
    ran = true;
  });
  CHECK_FALSE(event->done());
  gate.open();
  event->wait();
  CHECK(event->done());
  CHECK(ran);
}

TEST_CASE("a task waits for events of other streams") {
  Stream first("a"), second("b");
  Gate gate;
  int value = 0;
  const Event written = first.submit([&] {
    gate.wait();
    value = 1;
  });
  int seen = -1;
  const Event read = second.submit([&] { seen = value; }, {written});
  CHECK_FALSE(read->done());
  gate.open();
  read->wait();
  CHECK(seen == 1);
}

TEST_CASE("destruction runs what is queued") {
  int ran = 0;
  {
    Stream stream("s");
    for (int i = 0; i < 100; ++i) stream.submit([&] { ++ran; });
  }
  CHECK(ran == 100);
}

TEST_CASE("a stream that was never used has nothing to wait for") {
  Stream stream("cpu(0)");
  stream.synchronize();
  CHECK(stream.name() == "cpu(0)");
}

TEST_CASE("an event that its caller drives is waited for in the caller's thread") {
  Stream stream("s");
  const auto round = std::make_shared<CallerEvent>();
  bool waited = false;
  stream.submit([&] { waited = round->done(); }, {round})->wait();
  CHECK(waited);
  CHECK(round->waited_by == std::this_thread::get_id());
}

TEST_CASE("whoever keeps the event of a finished task keeps neither its captures nor the events before it") {
  Stream first("a"), second("b");
  auto captured = std::make_shared<int>(1);
  Gate gate;
  Event before = first.submit([&gate] { gate.wait(); });
  const std::weak_ptr<EventState> before_alive = before;
  const std::weak_ptr<int> captured_alive = captured;
  const Event event = second.submit([captured] {}, {before});
  before.reset();
  captured.reset();
  CHECK_FALSE(captured_alive.expired());
  gate.open();
  event->wait();
  first.synchronize();
  CHECK(captured_alive.expired());
  CHECK(before_alive.expired());
}

TEST_CASE("several threads queue and wait at once") {
  Stream stream("s");
  int sum = 0;  // guarded by the queue alone
  std::vector<std::thread> threads(4);
  for (std::thread& thread : threads)
    thread = std::thread([&] {
      for (int i = 0; i < 200; ++i) stream.submit([&] { ++sum; })->wait();
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(sum == 800);
}

TEST_CASE("a worker flushes denormals and computes with as many threads as its starter") {
  int threads = 0;
  float tiny = 1;
  // In a thread of its own, since the mode of the tests' thread must stay as it is.
  std::thread([&] {
    cohort::set_compute_threads(3);
    Stream stream("s");
    stream.submit([&] {
      threads = cohort::compute_threads();
      volatile float smallest = FLT_MIN;
      tiny = smallest * 0.5f;
    });
  }).join();
  CHECK(threads == 3);
  CHECK(tiny == 0);
}

TEST_CASE("every thread of the team flushes denormals") {
  std::thread([] {
    cohort::set_compute_threads(4);
#pragma omp parallel num_threads(4)
    {
      volatile float smallest = FLT_MIN;
      volatile float denormal = FLT_MIN / 4;
      flushed += (smallest * 0.5f == 0 && denormal * 2.0f == 0) ? 1 : 0;
    }
  }).join();
  CHECK(flushed == 4);
  CHECK_THROWS(cohort::set_compute_threads(0));
  CHECK(cohort::available_cores() >= 1);
}
