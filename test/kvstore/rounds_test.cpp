// Rounds under delays: nobody overwrites what another rank still reads, nothing mixes, nothing costs a message on a
// node.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>

#include "test/kvstore/stores.hpp"

namespace cohort::test {

namespace {

void nap(std::mt19937& random, int most_us) {
  std::this_thread::sleep_for(std::chrono::microseconds(random() % static_cast<unsigned>(most_us)));
}

void fill_own(const NDArray& array, float value) { std::fill_n(array.data(), array.count(), value); }

bool holds(const NDArray& array, float value) {
  const float* const data = array.data();
  for (std::int64_t i = 0; i < array.count(); ++i)
    if (data[i] != value) return false;
  return true;
}

// Values that need rounding, another for every rank and element.
void fill_unevenly(const NDArray& array, int rank, int round) {
  float* const data = array.data();
  for (std::int64_t i = 0; i < array.count(); ++i)
    data[i] = 1.0f / static_cast<float>(3 + (i * 7 + rank * 13 + round * 5) % 1009);
}

OptimizerOptions momentum_options() {
  OptimizerOptions options;
  options.learning_rate = 0.1f;
  options.momentum = 0.9f;
  options.weight_decay = 1e-3f;
  return options;
}

std::uint64_t hash_of(const NDArray& array) {
  std::uint64_t hash = 1469598103934665603u;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(array.data());
  for (std::int64_t i = 0; i < array.count() * 4; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

// Hash of all weights after rounds of uneven gradients.
std::uint64_t trained_hash(KVStore& store, Context& context, int rounds, unsigned seed) {
  World& world = test_world();
  std::vector<Key> keys;
  std::vector<NDArray> values;
  for (const std::int64_t count : {5, 1000, 300'007, 33}) {
    keys.emplace_back("key" + std::to_string(count) + "_weight");
    values.push_back(full(context, {count}, 0.5f));
  }
  store.set_optimizer(Optimizer(momentum_options()));
  store.init(keys, values);
  std::mt19937 random(seed + static_cast<unsigned>(world.rank()));
  for (int round = 0; round < rounds; ++round) {
    for (const Key& key : keys) {
      const NDArray gradient = store.gradient(key);
      fill_unevenly(gradient, world.rank(), round);
      if (seed) nap(random, 300);
      store.push(key, gradient);
    }
    store.wait_all();
  }
  std::uint64_t hash = 0;
  for (const Key& key : keys) hash = hash * 31 + hash_of(store.weight(key));
  return hash;
}

std::uint64_t trained_hash(const std::string& type, const StoreOptions& options, unsigned seed) {
  World& world = test_world();
  Context context(plain_backend());
  const auto store = make_store(world, context, type, options);
  const std::uint64_t hash = trained_hash(*store, context, 5, seed);
  store->close();
  return hash;
}

bool same_everywhere(World& world, std::uint64_t hash) {
  std::int64_t low = static_cast<std::int64_t>(hash), high = low;
  world.all().allreduce(view_of(&low, 1), ReduceOp::min, "hashes");
  world.all().allreduce(view_of(&high, 1), ReduceOp::max, "hashes");
  return low == high;
}

}  // namespace

TEST_CASE("buckets pushed under random delays do not mix") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    constexpr int count = 12;
    std::vector<Key> keys;
    std::vector<NDArray> values;
    for (int i = 0; i < count; ++i) {
      keys.emplace_back(i);
      values.push_back(full(context, {i == 5 ? 600'000 : 1000 + i}, 0));
    }
    store.init(keys, values);
    std::mt19937 random(static_cast<unsigned>(world.rank()) + 1);
    bool good = true;
    for (int round = 1; round <= 20; ++round) {
      for (int i = 0; i < count; ++i) {
        const NDArray gradient = store.gradient(i);
        fill_own(gradient, static_cast<float>(i * round));
        nap(random, 200);
        store.push(i, gradient);
      }
      store.wait_all();
      for (int i = 0; i < count; ++i)
        good = good && holds(store.weight(i), static_cast<float>(i * round * world.size()));
    }
    REQUIRE_ALL(world, good);
  });
}

TEST_CASE("a delayed rank neither reads new values too early nor loses old ones") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    store.init("w", full(context, {50'000}, 0));
    const NDArray gradient = store.gradient("w"), weight = store.weight("w");
    std::mt19937 random(7);
    bool good = true;
    for (int round = 1; round <= 60; ++round) {
      const int late = static_cast<int>(random() % static_cast<unsigned>(world.size()));
      if (world.rank() == late) nap(random, 3000);
      fill_own(gradient, static_cast<float>(round));
      store.push("w", gradient);
      store.wait_all();
      fill_own(gradient, -1e6f);  // the round is over: the memory is this rank's again
      if (world.rank() == (late + 1) % world.size()) nap(random, 3000);
      good = good && holds(weight, static_cast<float>(round * world.size()));
    }
    REQUIRE_ALL(world, good);
  });
}

TEST_CASE("weights have the same bits on every rank, on every rerun and in every placement") {
  World& world = test_world();
  const std::uint64_t hash = trained_hash("dist_sync", {}, 0);
  REQUIRE_ALL(world, same_everywhere(world, hash));
  for (const unsigned seed : {1u, 2u, 3u}) REQUIRE_ALL(world, trained_hash("dist_sync", {}, seed) == hash);
  REQUIRE_ALL(world, trained_hash("dist_sync", {.servers_per_node = 1}, 4) == hash);
  REQUIRE_ALL(world, trained_hash("dist_sync", {.private_weights = true}, 5) == hash);
  if (world.size() == 1) REQUIRE(trained_hash("local", {}, 0) == hash);
}

TEST_CASE("an update off the store, from the store's sum, has the same bits") {
  World& world = test_world();
  Context context(plain_backend());
  const auto on = make_store(world, context, "dist_sync"), off = make_store(world, context, "dist_sync");
  constexpr std::int64_t count = 5003;
  on->set_optimizer(Optimizer(momentum_options()));
  on->init("w_weight", full(context, {count}, 1));
  off->init("w_weight", full(context, {count}, 1));
  Optimizer optimizer(momentum_options());
  std::vector<float> weight(count, 1.0f), momentum(count, 0.0f);
  for (int round = 0; round < 5; ++round) {
    for (KVStore* store : {on.get(), off.get()}) {
      fill_unevenly(store->gradient("w_weight"), world.rank(), round);
      store->push("w_weight", store->gradient("w_weight"));
      store->wait_all();
    }
    const float* const sum = off->weight("w_weight").data();
    float* const states[] = {momentum.data()};
    optimizer.kernel().run({std::span(&sum, 1), weight.data(), states, count}, optimizer.next_step("w_weight"));
  }
  const auto same_bits = [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  };
  REQUIRE_ALL(world, std::equal(weight.begin(), weight.end(), on->weight("w_weight").data(), same_bits));
  on->close();
  off->close();
}

TEST_CASE("reports of a step reach all ranks in rank order") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    store.init("w", full(context, {100}, 0));
    std::mt19937 random(static_cast<unsigned>(world.rank()) + 3);
    bool good = true;
    for (int step = 1; step <= 30; ++step) {
      StepReport report;
      report.loss_sum = step * 0.5 + world.rank();
      report.correct = world.rank();
      report.samples = 100 * step + world.rank();
      report.stop = step == 30 && world.rank() + 1 == world.size();
      store.set_report(report);
      nap(random, 300);
      store.push("w", store.gradient("w"));
      store.wait_all();
      const std::vector<StepReport> all = store.reports();
      good = good && all.size() == static_cast<std::size_t>(world.size());
      for (std::size_t rank = 0; rank < all.size(); ++rank)
        good = good && all[rank].loss_sum == step * 0.5 + static_cast<double>(rank) &&
               all[rank].correct == static_cast<double>(rank) &&
               all[rank].samples == 100 * step + static_cast<std::int64_t>(rank) &&
               all[rank].stop == (step == 30 && rank + 1 == all.size());
    }
    REQUIRE_ALL(world, good);
  });
}

TEST_CASE("a step on one node makes no MPI call and copies nothing") {
  World& world = test_world();
  if (world.node_count() > 1) return;
  Context context(plain_backend());
  const auto store = make_store(world, context, "dist_sync");
  if (store->weights_placement() == "rank") return store->close();
  const Key keys[] = {"a_weight", "b_weight"};
  const NDArray values[] = {full(context, {1000}, 0), full(context, {70'000}, 0)};
  store->set_optimizer(Optimizer(momentum_options()));
  store->init(keys, values);
  const std::uint64_t calls = world.mpi_calls(), copied = store->copied_bytes();
  for (int step = 0; step < 10; ++step) {
    store->set_report({});
    for (const Key& key : keys) store->push(key, store->gradient(key));
    store->wait_all();
  }
  const std::uint64_t calls_after = world.mpi_calls(), copied_after = store->copied_bytes();
  NDArray out = full(context, {1000}, 0);
  store->pushpull(keys[0], values[0], out);
  store->wait_all();
  const std::uint64_t copied_in_the_end = store->copied_bytes();
  REQUIRE_ALL(world, calls_after == calls);
  REQUIRE_ALL(world, copied_after == copied);
  REQUIRE_ALL(world, copied_in_the_end == copied + 8000);
  store->close();
}

TEST_CASE("where the weights lie is said") {
  World& world = test_world();
  Context context(plain_backend());
  const auto store = make_store(world, context, "dist_sync");
  store->init("w", full(context, {1000}, 0));
  const std::string placement = store->weights_placement();
  const bool limited = world.options().shared_memory_limit > 0 && world.options().shared_memory_limit < 4000;
  std::int32_t largest = world.node_size();
  world.all().allreduce(view_of(&largest, 1), ReduceOp::max, "largest node");
  if (limited && largest > 1)
    REQUIRE_ALL(world, placement == "rank");
  else
    REQUIRE_ALL(world, placement.find("node (") == 0);
  store->close();
  const auto own = make_store(world, context, "dist_sync", {.private_weights = true});
  REQUIRE_ALL(world, own->weights_placement() == "rank");
  own->close();
}

}  // namespace cohort::test
