// Every operation of a communicator against results in closed form.
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "collectives/wait.hpp"
#include "test/support/all_ranks.hpp"
#include "test/support/mpi_main.hpp"

using namespace cohort;
using test::test_world;

namespace {

// Counts around the number of ranks, one that no rank count divides, and one beyond any lowered message limit.
std::vector<std::int64_t> counts(int ranks) { return {0, 1, ranks - 1, ranks, ranks + 1, 61, 1000}; }

// A small integer that tells rank and place apart.
template <class T>
T element(int rank, std::int64_t i) {
  return static_cast<T>((rank + 1) * 2 + i % 7);
}

template <class T>
std::vector<T> elements(int rank, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = element<T>(rank, i);
  return values;
}

template <class T>
View view(std::vector<T>& values) {
  return view_of(values.data(), static_cast<std::int64_t>(values.size()));
}

void wait_for(Request& request) {
  wait_until([&] { return request.test(); }, test_world().options().wait_limit, [&] { return request.description(); });
}

}  // namespace

TEMPLATE_TEST_CASE("allreduce, every arithmetic type, sum max and min", "", float, double, std::int32_t, std::int64_t,
                   std::uint8_t, std::int8_t) {
  Communicator& all = test_world().all();
  const int n = all.size();
  for (const std::int64_t count : counts(n)) {
    std::vector<TestType> sum = elements<TestType>(all.rank(), count);
    std::vector<TestType> max = sum;
    std::vector<TestType> min = sum;
    all.allreduce(view(sum), ReduceOp::sum, "a test");
    all.allreduce(view(max), ReduceOp::max, "a test");
    all.allreduce(view(min), ReduceOp::min, "a test");
    bool right = true;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto place = static_cast<std::size_t>(i);
      right = right && sum[place] == static_cast<TestType>(n * (n + 1) + n * (i % 7));
      right = right && max[place] == element<TestType>(n - 1, i) && min[place] == element<TestType>(0, i);
    }
    INFO("count " << count);
    REQUIRE_ALL(test_world(), right);
  }
}

TEST_CASE("allreduce refuses the types that MPI cannot add") {
  std::uint16_t halves[2] = {};
  const View data{halves, 2, DType::f16};
  REQUIRE_THROWS_AS(test_world().all().allreduce(data, ReduceOp::sum, "a test"), Error);
}

TEMPLATE_TEST_CASE("broadcast from every root", "", float, double, std::int32_t, std::int64_t, std::uint8_t) {
  Communicator& all = test_world().all();
  for (int root = 0; root < all.size(); ++root) {
    for (const std::int64_t count : counts(all.size())) {
      std::vector<TestType> values = elements<TestType>(all.rank(), count);
      all.broadcast(view(values), root, "a test");
      INFO("root " << root << ", count " << count);
      REQUIRE_ALL(test_world(), values == elements<TestType>(root, count));
    }
  }
}

TEST_CASE("broadcast moves the 16-bit floats as they are") {
  Communicator& all = test_world().all();
  std::vector<std::uint16_t> bits(9, static_cast<std::uint16_t>(0x3c00 + all.rank()));
  all.broadcast({bits.data(), 9, DType::bf16}, all.size() - 1, "a test");
  REQUIRE_ALL(test_world(), bits == std::vector<std::uint16_t>(9, static_cast<std::uint16_t>(0x3c00 + all.size() - 1)));
}

TEMPLATE_TEST_CASE("allgather keeps rank order, in place and not", "", float, double, std::int64_t, std::uint8_t) {
  Communicator& all = test_world().all();
  const int n = all.size();
  for (const std::int64_t count : counts(n)) {
    std::vector<TestType> expected;
    for (int rank = 0; rank < n; ++rank) {
      const auto part = elements<TestType>(rank, count);
      expected.insert(expected.end(), part.begin(), part.end());
    }
    std::vector<TestType> part = elements<TestType>(all.rank(), count);
    std::vector<TestType> whole(expected.size(), TestType{99});
    all.allgather(view(part), view(whole), "a test");
    std::vector<TestType> in_place(expected.size(), TestType{99});
    const View own = view(in_place).slice(all.rank() * count, count);
    std::copy(part.begin(), part.end(), in_place.begin() + all.rank() * count);
    all.allgather(own, view(in_place), "a test");
    INFO("count " << count);
    REQUIRE_ALL(test_world(), whole == expected);
    REQUIRE_ALL(test_world(), in_place == expected);
  }
}

TEST_CASE("allgather refuses parts that do not fill the whole") {
  Communicator& all = test_world().all();
  std::vector<float> part(2);
  std::vector<float> whole(static_cast<std::size_t>(2 * all.size() + 1));
  REQUIRE_THROWS_AS(all.allgather(view(part), view(whole), "a test"), Error);
}

TEST_CASE("send and receive between all pairs, itself included, of all sizes") {
  Communicator& all = test_world().all();
  const int n = all.size();
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{61}, std::int64_t{20'000}}) {
    const auto places = static_cast<std::size_t>(n);
    std::vector<std::vector<float>> in(places, std::vector<float>(static_cast<std::size_t>(count), -1.0f));
    std::vector<std::vector<float>> out;
    std::vector<Request> requests;
    requests.reserve(2 * static_cast<std::size_t>(n));
    for (int peer = 0; peer < n; ++peer)
      requests.push_back(all.receive(view(in[static_cast<std::size_t>(peer)]), peer, 5, "a test"));
    for (int peer = 0; peer < n; ++peer) {
      out.push_back(elements<float>(all.rank() * n + peer, count));
      requests.push_back(all.send(view(out.back()), peer, 5, "a test"));
    }
    for (Request& request : requests) wait_for(request);
    bool right = true;
    for (int peer = 0; peer < n; ++peer)
      right = right && in[static_cast<std::size_t>(peer)] == elements<float>(peer * n + all.rank(), count);
    INFO("count " << count);
    REQUIRE_ALL(test_world(), right);
  }
}

TEST_CASE("messages match by tag, and in order within a tag") {
  Communicator& all = test_world().all();
  const int next = (all.rank() + 1) % all.size();
  const int previous = (all.rank() + all.size() - 1) % all.size();
  std::vector<Request> sends;
  std::vector<std::vector<std::int32_t>> out;
  for (const std::int32_t value : {10, 11, 20, 21})
    out.push_back({value + all.rank(), value, value, value, value, value, value, value, value});
  for (std::size_t i = 0; i < out.size(); ++i)
    sends.push_back(all.send(view(out[i]), next, i < 2 ? 1 : 32767, "a test"));
  std::vector<std::int32_t> values;
  for (const int tag : {32767, 1, 1, 32767}) {
    std::vector<std::int32_t> in(9);
    Request receive = all.receive(view(in), previous, tag, "a test");
    wait_for(receive);
    values.push_back(in[0] - previous);
    values.push_back(in[8]);
  }
  for (Request& send : sends) wait_for(send);
  REQUIRE_ALL(test_world(), values == std::vector<std::int32_t>{20, 20, 10, 10, 11, 11, 21, 21});
}

TEST_CASE("a request says what it is, and is empty once done") {
  Communicator& all = test_world().all();
  std::vector<float> out(3, 1.0f);
  std::vector<float> in(3);
  Request receive = all.receive(view(in), all.rank(), 7, "weights of fc1");
  REQUIRE_FALSE(receive.empty());
  REQUIRE(receive.description().find("weights of fc1") != std::string::npos);
  REQUIRE(receive.description().find("tag 7") != std::string::npos);
  Request send = all.send(view(out), all.rank(), 7, "weights of fc1");
  wait_for(receive);
  wait_for(send);
  REQUIRE(receive.empty());
  REQUIRE(receive.test());
  REQUIRE(in == out);
}

TEST_CASE("a peer or a tag that does not exist is an error") {
  Communicator& all = test_world().all();
  std::vector<float> data(1);
  REQUIRE_THROWS_AS(all.send(view(data), all.size(), 0, "a test"), Error);
  REQUIRE_THROWS_AS(all.receive(view(data), -1, 0, "a test"), Error);
  REQUIRE_THROWS_AS(all.send(view(data), 0, 32768, "a test"), Error);
}

TEST_CASE("split groups by color and orders by key") {
  World& world = test_world();
  Communicator& all = world.all();
  const int n = all.size();
  const auto group = all.split(all.rank() % 2, -all.rank());
  const int members = (n - all.rank() % 2 + 1) / 2;
  REQUIRE_ALL(world, group->size() == members);
  REQUIRE_ALL(world, group->rank() == members - 1 - all.rank() / 2);
  std::int32_t sum = all.rank();
  group->allreduce(view_of(&sum, 1), ReduceOp::sum, "a test");
  std::int32_t expected = 0;
  for (int rank = all.rank() % 2; rank < n; rank += 2) expected += rank;
  REQUIRE_ALL(world, sum == expected);
}

TEST_CASE("text travels whole, also the empty one") {
  Communicator& all = test_world().all();
  for (int root = 0; root < all.size(); ++root) {
    const std::string text = all.rank() == root ? "line\none of " + std::to_string(root) : "something else";
    REQUIRE_ALL(test_world(), broadcast_text(all, text, root, "a test") == "line\none of " + std::to_string(root));
    const std::string none = all.rank() == root ? "" : "something else";
    REQUIRE_ALL(test_world(), broadcast_text(all, none, root, "a test").empty());
  }
}

TEST_CASE("an error of the library returns with its words, the call and the place") {
  Communicator& all = test_world().all();
  std::vector<float> data(1);
  std::string text;
  ErrorKind kind = ErrorKind::check;
  try {
    all.broadcast(view(data), all.size() + 3, "a test");
  } catch (const Error& error) {
    text = error.what();
    kind = error.kind();
  }
  REQUIRE_ALL(test_world(), kind == ErrorKind::mpi);
  INFO(text);
  REQUIRE_ALL(test_world(), text.find("MPI_Ibcast(") != std::string::npos);
  REQUIRE_ALL(test_world(), text.find("MPI_ERR_ROOT") != std::string::npos);
  REQUIRE_ALL(test_world(), text.find("collectives/mpi/communicator.cpp:") != std::string::npos);
}
