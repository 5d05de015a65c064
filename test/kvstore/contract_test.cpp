// What every store promises, whatever its type and placement.
#include <cmath>
#include <limits>
#include <numeric>

#include "test/kvstore/stores.hpp"

namespace cohort::test {

namespace {

const std::vector<Shape> shapes = {Shape{1},    Shape{15},      Shape{16},       Shape{17},
                                   Shape{2, 3}, Shape{1023, 3}, Shape{1'000'003}};

OptimizerOptions test_rule(float rescale) {
  OptimizerOptions options;
  options.name = "test";
  options.rescale_grad = rescale;
  return options;
}

}  // namespace

TEST_CASE("a pull before any push returns rank 0's initial value") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    store.init("w", full(context, {3, 5}, 7.0f + static_cast<float>(world.rank())));
    NDArray out = full(context, {3, 5}, -1);
    store.pull("w", out);
    REQUIRE_ALL(world, all_equal(out, 7));
    REQUIRE_ALL(world, all_equal(store.weight("w"), 7));
    REQUIRE_ALL(world, store.rank() == world.rank());
    REQUIRE_ALL(world, store.num_workers() == world.size());
    REQUIRE_ALL(world, store.is_capable("optimizer"));
  });
}

TEST_CASE("the test optimizer adds the rescaled sum over ranks once per round") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    const float rescale = 2;
    store.set_optimizer(Optimizer(test_rule(rescale)));
    std::vector<Key> keys;
    std::vector<NDArray> ones, outs;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      keys.emplace_back("key" + std::to_string(i));
      ones.push_back(full(context, shapes[i], 1));
      outs.push_back(full(context, shapes[i], -1));
    }
    store.init(keys, ones);
    for (int round = 1; round <= 3; ++round)
      for (std::size_t i = 0; i < keys.size(); ++i) {
        store.push(keys[i], full(context, shapes[i], static_cast<float>(world.rank() + 1)));
        store.pull(keys[i], outs[i]);
      }
    store.wait_all();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      INFO("shape " << to_string(shapes[i]));
      REQUIRE_ALL(world, all_equal(outs[i], 1 + rescale * 3 * sum_of_ranks(world)));
    }
  });
}

TEST_CASE("without optimizer the store holds the last round's sum") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    store.init(3, full(context, {4, 4}, 100));
    NDArray out = full(context, {4, 4}, -1);
    for (int round = 1; round <= 3; ++round) {
      NDArray value = full(context, {4, 4}, static_cast<float>((world.rank() + 1) * round));
      store.pushpull(3, value, out);
      REQUIRE_ALL(world, all_equal(out, static_cast<float>(round) * sum_of_ranks(world)));
    }
  });
}

TEST_CASE("values of several devices and repeated keys are summed") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    store.init("w", full(context, {5}, 0));
    const Key keys[] = {"w", "w"};
    const std::vector<NDArray> values[] = {{full(context, {5}, 1, 0), full(context, {5}, 2, 1)},
                                           {full(context, {5}, 4, 0), full(context, {5}, 8, 1)}};
    store.push(keys, values);
    NDArray first = full(context, {5}, 0, 0), second = full(context, {5}, 0, 1);
    const std::vector<NDArray> outs[] = {{first, second}};
    store.pull(std::span(keys, 1), outs);
    const auto sum = static_cast<float>(15 * world.size());
    REQUIRE_ALL(world, all_equal(first, sum));
    REQUIRE_ALL(world, all_equal(second, sum));
  });
}

TEST_CASE("the calls that the documentation shows") {
  World& world = test_world();
  Context context(plain_backend());
  const std::unique_ptr<KVStore> store = make_store(world, context, world.size() > 1 ? "dist_sync" : "local");
  OptimizerOptions options;
  options.learning_rate = 0.25f;
  store->set_optimizer(Optimizer(options));                // the store updates
  store->init("w", NDArray::full(context, {2, 3}, 1.0f));  // rank 0's values win

  const NDArray gradient = NDArray::full(context, {2, 3}, 1.0f);
  const NDArray weight = NDArray::zeros(context, {2, 3});
  for (int step = 0; step < 2; ++step) {
    store->optimizer()->set_rescale(1.0f / static_cast<float>(store->num_workers()));
    store->push("w", gradient);  // this rank's part of the round
    store->pull("w", weight);    // returns at once
  }
  const std::vector<float> values = weight.values();  // waits for the second round: 1 - 2 * 0.25, on every rank
  store->close();                                     // before World::finish
  REQUIRE_ALL(world, values == std::vector<float>(6, 0.5f));
}

TEST_CASE("an updater function replaces the optimizer and sees the sum") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    store.set_optimizer(Optimizer(test_rule(1)));
    store.init("w", full(context, {1000}, 1));
    NDArray out = full(context, {1000}, -1);
    store.pushpull("w", full(context, {1000}, 1), out);
    REQUIRE_ALL(world, all_equal(out, 1.0f + static_cast<float>(world.size())));
    store.set_updater([](const Key& key, const NDArray& received, NDArray& stored) {
      COHORT_CHECK(key == Key("w"), "another key: {}", key.text());
      stored *= 2;
      stored += received;
    });
    REQUIRE_ALL(world, store.optimizer() == nullptr);
    store.pushpull("w", full(context, {1000}, 1), out);
    REQUIRE_ALL(world, all_equal(out, static_cast<float>(2 + 3 * world.size())));
    // Another array instead of a change in place counts as well.
    store.set_updater([](const Key&, const NDArray& received, NDArray& stored) { stored = received * 3; });
    store.pushpull("w", full(context, {1000}, 1), out);
    REQUIRE_ALL(world, all_equal(out, static_cast<float>(3 * world.size())));
    store.init("v", full(context, {3}, 5));
    NDArray small = full(context, {3}, 0);
    store.pushpull("v", full(context, {3}, 1), small);
    REQUIRE_ALL(world, all_equal(small, static_cast<float>(3 * world.size())));
  });
}

TEST_CASE("four pushes with an adding updater accumulate") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    store.set_updater([](const Key&, const NDArray& received, NDArray& stored) { stored += received; });
    store.init("a", full(context, {2, 2}, 0));
    const Key key = "a";
    const std::vector<NDArray> four(4, full(context, {2, 2}, 1));
    NDArray out = full(context, {2, 2}, -1);
    for (int round = 0; round < 4; ++round) store.push(std::span(&key, 1), std::span(&four, 1));
    store.pull("a", out);
    REQUIRE_ALL(world, all_equal(out, static_cast<float>(16 * world.size())));
  });
}

TEST_CASE("momentum is one state for all ranks") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    // v = v + sum, w = w + v: after k rounds w = sum * k (k+1) / 2.
    OptimizerOptions options;
    options.learning_rate = 0.5f;
    options.rescale_grad = -2;
    options.momentum = 0.5f;
    store.init("w_weight", full(context, {777}, 0));
    store.set_optimizer(Optimizer(options));
    NDArray out = full(context, {777}, 0);
    float v = 0, w = 0;
    for (int round = 1; round <= 6; ++round) {
      store.pushpull("w_weight", full(context, {777}, static_cast<float>(64 * (world.rank() + 1))), out);
      v = 0.5f * v + 64 * sum_of_ranks(world);
      w += v;
      REQUIRE_ALL(world, all_equal(out, w));
    }
    // A new optimizer begins without state.
    store.set_optimizer(Optimizer(options));
    store.pushpull("w_weight", full(context, {777}, 64), out);
    REQUIRE_ALL(world, all_equal(out, w + static_cast<float>(64 * world.size())));
  });
}

TEST_CASE("ranks may name keys in any order") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    constexpr int count = 7;
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin(), order.begin() + world.rank() % count, order.end());
    if (world.rank() % 2 == 1) std::reverse(order.begin(), order.end());
    std::vector<Key> keys;
    std::vector<NDArray> values;
    for (const int i : order) {
      keys.emplace_back("layer" + std::to_string(i));
      values.push_back(full(context, {10 + i}, 0));
    }
    store.init(keys, values);
    for (int round = 1; round <= 3; ++round) {
      std::vector<NDArray> outs;
      for (const int i : order) {
        outs.push_back(full(context, {10 + i}, -1));
        store.push("layer" + std::to_string(i), full(context, {10 + i}, static_cast<float>(i * round)));
        store.pull("layer" + std::to_string(i), outs.back());
      }
      bool good = true;
      for (std::size_t i = 0; i < order.size(); ++i)
        good = all_equal(outs[i], static_cast<float>(order[i] * round * world.size())) && good;
      REQUIRE_ALL(world, good);
    }
  });
}

TEST_CASE("two pushes without a pull are two rounds, in any order of keys") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    store.set_optimizer(Optimizer(test_rule(1)));
    const Key keys[] = {"a", "b"};
    const NDArray zeros[] = {full(context, {100}, 0), full(context, {100}, 0)};
    store.init(keys, zeros);
    NDArray value = full(context, {100}, 0);
    for (const std::size_t which : {std::size_t(world.rank() % 2), std::size_t((world.rank() + 1) % 2)})
      for (int round = 1; round <= 3; ++round) {
        value.fill(static_cast<float>(round));  // pushed values may be changed at once
        store.push(keys[which], value);
      }
    value.fill(-1000);
    NDArray a = full(context, {100}, 0), b = full(context, {100}, 0);
    store.pull("a", a);
    store.pull("b", b);
    store.wait_all();
    REQUIRE_ALL(world, all_equal(a, static_cast<float>(6 * world.size())));
    REQUIRE_ALL(world, all_equal(b, static_cast<float>(6 * world.size())));
  });
}

TEST_CASE("a pull shows its own round though the next push came before it was read") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    store.set_optimizer(Optimizer(test_rule(1)));
    store.init("w", full(context, {50}, 0));
    std::vector<NDArray> outs;
    for (int round = 0; round < 4; ++round) {
      outs.push_back(full(context, {50}, -1));
      store.push("w", full(context, {50}, 1));
      store.pull("w", outs.back());
    }
    bool good = true;
    for (std::size_t round = 0; round < outs.size(); ++round)
      good = all_equal(outs[round], static_cast<float>((round + 1) * static_cast<std::size_t>(world.size()))) && good;
    REQUIRE_ALL(world, good);
  });
}

TEST_CASE("pushpull without outs writes back, also into the store's own gradient") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    store.init("w", full(context, {33}, 0));
    const Key key = "w";
    const std::vector<NDArray> values{full(context, {33}, 1)};
    store.pushpull(std::span(&key, 1), std::span(&values, 1));
    REQUIRE_ALL(world, all_equal(values[0], static_cast<float>(world.size())));
    const std::vector<NDArray> own{store.gradient("w")};
    own[0].wait_to_write();
    std::fill_n(own[0].data(), own[0].count(), 2.0f);
    float expected = 2;
    for (int round = 0; round < 3; ++round) {
      store.pushpull(std::span(&key, 1), std::span(&own, 1));
      expected *= static_cast<float>(world.size());
      REQUIRE_ALL(world, all_equal(own[0], expected));
    }
  });
}

TEST_CASE("reading the store's weights waits for the round and shows a new version") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    store.set_optimizer(Optimizer(test_rule(1)));
    store.init("w", full(context, {1'000'003}, 0));
    const NDArray weight = store.weight("w"), gradient = store.gradient("w");
    for (int round = 1; round <= 4; ++round) {
      std::fill_n(gradient.data(), gradient.count(), static_cast<float>(round));
      const std::uint64_t before = weight.version();
      store.push("w", gradient);
      const NDArray copy = weight.copy();  // on a stream
      REQUIRE_ALL(world, weight.version() > before);
      REQUIRE_ALL(world, all_equal(copy, static_cast<float>(sum_up_to(round) * world.size())));
      REQUIRE_ALL(world, all_equal(weight, static_cast<float>(sum_up_to(round) * world.size())));
    }
  });
}

TEST_CASE("values that are not finite, and negative zero, come through as in a plain sum") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    const bool last = world.rank() + 1 == world.size();
    store.init("w", full(context, {5}, 0));
    const float mine[] = {last ? nan : 1.0f, last ? infinity : 1.0f, infinity, last ? -infinity : infinity, -0.0f};
    NDArray out = full(context, {5}, 0);
    store.pushpull("w", NDArray::from_values(context, {5}, mine), out);
    const std::vector<float> sum = out.values();
    REQUIRE_ALL(world, std::isnan(sum[0]));
    REQUIRE_ALL(world, sum[1] == infinity);
    REQUIRE_ALL(world, sum[2] == infinity);
    REQUIRE_ALL(world, (world.size() == 1 ? sum[3] == -infinity : std::isnan(sum[3])));
    REQUIRE_ALL(world, (sum[4] == 0 && std::signbit(sum[4])));
  });
}

TEST_CASE("broadcast registers and pulls, barrier holds all ranks") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    const Key keys[] = {5, 9};
    const NDArray values[] = {full(context, {2}, static_cast<float>(world.rank() + 1)), full(context, {3}, 8)};
    const std::vector<NDArray> outs[] = {{full(context, {2}, 0), full(context, {2}, 0)}, {full(context, {3}, 0)}};
    store.broadcast(keys, values, outs);
    REQUIRE_ALL(world, (all_equal(outs[0][0], 1) && all_equal(outs[0][1], 1) && all_equal(outs[1][0], 8)));
    store.push(5, full(context, {2}, 1));
    store.barrier();
    NDArray out = full(context, {2}, 0);
    store.pull(5, out);
    REQUIRE_ALL(world, all_equal(out, static_cast<float>(world.size())));
  });
}

}  // namespace cohort::test
