// Callers' mistakes: named on the rank that makes them, and on all ranks where all would wait.
#include "test/kvstore/stores.hpp"

namespace cohort::test {

namespace {

// Whether `body` throws an error of the caller's whose text has all these parts. It runs on this rank alone.
template <class Body>
bool refuses(const Body& body, const std::vector<std::string>& parts) {
  ErrorKind kind = ErrorKind::check;
  const std::string text = error_of(body, &kind);
  INFO("error text: " << text);
  bool good = kind == ErrorKind::usage && !text.empty();
  for (const std::string& part : parts) good = good && text.find(part) != std::string::npos;
  CHECK(good);
  return good;
}

}  // namespace

TEST_CASE("an unknown type lists those there are, known ones are found in any case") {
  World& world = test_world();
  Context context(plain_backend());
  REQUIRE_ALL(world, refuses([&] { make_store(world, context, "dist_sink"); }, {"dist_sink", "local", "dist_sync"}));
  REQUIRE_ALL(world, refuses([&] { find_store("local_"); }, {"local_"}));
  const auto store = make_store(world, context, "Dist_SYNC");
  REQUIRE_ALL(world, store->type() == "dist_sync");
  REQUIRE_ALL(world, refuses([&] { store->is_capable("flying"); }, {"flying"}));
  store->close();
  if (world.size() > 1)
    REQUIRE_ALL(world, refuses([&] { make_store(world, context, "local"); }, {"local", "dist_sync"}));
  REQUIRE_ALL(world, refuses([&] { make_store(world, context, "dist_sync", {.servers_per_node = 0}); }, {"servers"}));
}

TEST_CASE("keys: kinds do not mix, each is initialised once, unknown ones are named") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    const NDArray value = full(context, {4}, 1);
    REQUIRE_ALL(world, refuses([&] { store.push("absent", value); }, {"absent", "push"}));
    store.init("w", value);
    REQUIRE_ALL(world, refuses([&] { store.init("w", value); }, {"'w'", "second time"}));
    REQUIRE_ALL(world, refuses([&] { store.init(7, value); }, {"'7'", "names"}));
    REQUIRE_ALL(world, refuses([&] { store.push("v", value); }, {"'v'", "init"}));
    REQUIRE_ALL(world, refuses([&] { store.pull("v", value); }, {"'v'", "pull"}));
    REQUIRE_ALL(world, refuses([&] { store.pull(7, value); }, {"'7'", "integer"}));
    REQUIRE_ALL(world, refuses([&] { store.weight("v"); }, {"'v'"}));
    const Key twice[] = {"x", "x"};
    const NDArray values[] = {value, value};
    REQUIRE_ALL(world, refuses([&] { store.init(twice, values); }, {"'x'", "second time"}));
    const Key mixed[] = {"x", 3};
    REQUIRE_ALL(world, refuses([&] { store.init(mixed, values); }, {"'3'", "integer"}));
    // Nothing of a refused list is registered.
    store.init("x", value);
  });
}

TEST_CASE("arrays: lengths, shapes and dtypes are checked before anything is done") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    const NDArray value = full(context, {4}, 1);
    const Key keys[] = {"a", "b"};
    const NDArray values[] = {value, value};
    REQUIRE_ALL(world, refuses([&] { store.init(keys, std::span(values, 1)); }, {"2 keys", "1 values"}));
    REQUIRE_ALL(world, refuses([&] { store.init("n", NDArray()); }, {"'n'"}));
    REQUIRE_ALL(world, refuses([&] { store.init("d", NDArray::zeros(context, {4}, DType::f64)); }, {"'d'", "float64"}));
    store.init(keys, values);
    const std::vector<NDArray> lists[] = {{value}, {full(context, {2, 2}, 1)}};
    REQUIRE_ALL(world, refuses([&] { store.push(keys, std::span(lists, 1)); }, {"2 keys", "1 list"}));
    REQUIRE_ALL(world, refuses([&] { store.push(keys, lists); }, {"'b'", "(4,)", "(2, 2)"}));
    REQUIRE_ALL(world, refuses([&] { store.pull("a", full(context, {5}, 0)); }, {"'a'", "(5,)"}));
    REQUIRE_ALL(world, refuses([&] { store.pull("a", NDArray::zeros(context, {4}, DType::i32)); }, {"'a'", "int32"}));
    const std::vector<NDArray> none[] = {{}};
    REQUIRE_ALL(world, refuses([&] { store.push(std::span(keys, 1), none); }, {"'a'"}));
    // The refused list has pushed no part of itself: the round is whole.
    NDArray out = full(context, {4}, 0);
    store.pushpull("a", value, out);
    REQUIRE_ALL(world, all_equal(out, static_cast<float>(world.size())));
  });
}

TEST_CASE("a rank with another key, shape or optimizer is found before anybody waits") {
  World& world = test_world();
  if (world.size() == 1) return;
  const int odd = world.size() - 1;
  const bool mine = world.rank() == odd;
  const std::string who = "rank " + std::to_string(odd);
  with_every_store([&](KVStore& store, Context& context) {
    const auto init = [&](const char* name, const Shape& shape) {
      const Key keys[] = {"common", name};
      const NDArray values[] = {full(context, {2}, 0), full(context, shape, 0)};
      store.init(keys, values);
    };
    REQUIRE_ALL(world,
                refuses([&] { init(mine ? "fc_w" : "fc_weight", {3}); }, {"fc_w", "rank 0", who, "no such key"}));
    REQUIRE_ALL(world, refuses(
                           [&] {
                             init("fc", mine ? Shape{3, 2} : Shape{2, 3});
                           },
                           {"'fc'", "rank 0", who, "(2, 3)", "(3, 2)"}));
    REQUIRE_ALL(world,
                refuses([&] { store.init("extra", mine ? NDArray() : full(context, {1}, 0)); }, {who, "'extra'"}));
    OptimizerOptions options;
    options.learning_rate = mine ? 0.2f : 0.1f;
    REQUIRE_ALL(world, refuses([&] { store.set_optimizer(Optimizer(options)); }, {"0.1", "0.2", who}));
    // The store is as it was.
    init("fc", {3});
    NDArray out = full(context, {3}, 0);
    store.pushpull("fc", full(context, {3}, 1), out);
    REQUIRE_ALL(world, all_equal(out, static_cast<float>(world.size())));
  });
}

TEST_CASE("an error in pushed work comes out at the push") {
  World& world = test_world();
  with_every_store([&](KVStore& store, Context& context) {
    store.init("w", full(context, {2}, 0));
    NDArray value = full(context, {2}, 0);
    value.buffer()->set_poison(std::make_exception_ptr(Error(ErrorKind::io, "spoilt")));
    REQUIRE_ALL(world, error_of([&] { store.push("w", value); }).find("spoilt") != std::string::npos);
  });
}

TEST_CASE("an updater's error comes out of the verb that runs it, and ends the store") {
  World& world = test_world();
  if (world.size() > 1) return;
  for (const StoreCase& each : store_cases(world)) {
    Context context(plain_backend());
    const auto store = make_store(world, context, each.type, each.options);
    const NDArray value = full(context, {2}, 0);
    store->init("w", value);
    store->set_updater([](const Key&, const NDArray&, NDArray&) { throw_usage("no update today"); });
    REQUIRE(error_of([&] { store->push("w", value); }).find("no update today") != std::string::npos);
    REQUIRE(error_of([&] { store->wait_all(); }).find("no update today") != std::string::npos);
  }
}

}  // namespace cohort::test
