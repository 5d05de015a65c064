// A rank that does not push: the others stop in time and name it. Run with a short limit.
#include <chrono>
#include <thread>

#include "test/kvstore/stores.hpp"

namespace cohort::test {

namespace {

// Ranks of another node see that its rail is silent; those beside the last rank see who has not pushed.
bool names_the_last_rank(const std::string& text, bool private_weights) {
  World& world = test_world();
  INFO("error text: " << text);
  const RankInfo& last = world.ranks().back();
  bool named = false;
  for (const RankInfo& info : world.ranks())
    if (info.rank == last.rank || (info.node == last.node && last.node != world.node() && !private_weights))
      named = named || text.find(world.describe(info.rank)) != std::string::npos;
  const bool good = named && text.find("'b'") != std::string::npos && text.find("round 2") != std::string::npos;
  CHECK(good);
  return good;
}

}  // namespace

TEST_CASE("a rank that does not push is named with key and round, at a wait and at a read") {
  World& world = test_world();
  if (world.size() == 1) return;
  const bool late = world.rank() + 1 == world.size();
  for (const bool read : {false, true})
    for (const bool private_weights : {false, true}) {
      Context context(plain_backend());
      const auto store = make_store(world, context, "dist_sync", {.private_weights = private_weights});
      const Key keys[] = {"a", "b"};
      const NDArray values[] = {full(context, {5}, 0), full(context, {500}, 0)};
      store->init(keys, values);
      for (const Key& key : keys) store->push(key, store->gradient(key));
      store->wait_all();
      ErrorKind kind = ErrorKind::check;
      std::string text;
      if (!late) {
        NDArray out = full(context, {500}, 0);
        text = error_of(
            [&] {
              store->push("b", store->gradient("b"));
              store->pull("b", out);
              if (read)
                out.wait_to_read();
              else
                store->wait_all();
            },
            &kind);
        // A store that has failed says so again instead of waiting again.
        CHECK(error_of([&] { store->wait_all(); }).find("'b'") != std::string::npos);
      } else {
        std::this_thread::sleep_for(world.options().wait_limit * 3 / 2);
      }
      REQUIRE_ALL(world, (late || kind == ErrorKind::timeout));
      REQUIRE_ALL(world, (late || names_the_last_rank(text, private_weights)));
    }
}

TEST_CASE("a rank that gives no report is named") {
  World& world = test_world();
  if (world.size() == 1) return;
  Context context(plain_backend());
  const auto store = make_store(world, context, "dist_sync");
  const bool late = world.rank() + 1 == world.size();
  ErrorKind kind = ErrorKind::check;
  std::string text;
  if (!late) {
    store->set_report({});
    text = error_of([&] { store->wait_all(); }, &kind);
  } else {
    std::this_thread::sleep_for(world.options().wait_limit * 3 / 2);
  }
  INFO("error text: " << text);
  REQUIRE_ALL(world, (late || (kind == ErrorKind::timeout && text.find("report") != std::string::npos)));
}

}  // namespace cohort::test
