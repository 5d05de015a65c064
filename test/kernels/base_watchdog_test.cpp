// A limit that runs out calls, one that does not keeps silent.
#include "kernels/base/watchdog.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "test/support/catch.hpp"

using cohort::Watchdog;

TEST_CASE("a limit that runs out calls once, from another thread") {
  std::atomic<int> calls{0};
  std::thread::id caller;
  {
    const Watchdog watch(std::chrono::milliseconds(1), [&] {
      caller = std::this_thread::get_id();
      ++calls;
    });
    while (calls == 0) std::this_thread::yield();
  }
  CHECK(calls == 1);
  CHECK(caller != std::this_thread::get_id());
}

TEST_CASE("what ends within the limit calls nothing") {
  std::atomic<int> calls{0};
  {
    const Watchdog watch(std::chrono::hours(1), [&] { ++calls; });
  }
  CHECK(calls == 0);
}
