// The prefetching reader: the sampler's order, epochs without a gap, errors and early ends.
#include "runtime/data/loader.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "kernels/base/error.hpp"
#include "test/support/catch.hpp"

using cohort::Batch;
using cohort::Dataset;
using cohort::Error;
using cohort::Loader;
using cohort::LoaderOptions;
using cohort::Sampler;
using cohort::SamplerOptions;
using cohort::Shape;
using Ids = std::vector<std::uint32_t>;

namespace {

// Sample i has the values 100 i + 0 ... 100 i + 4 and the label i. Reading `broken` fails.
class Numbers final : public Dataset {
 public:
  explicit Numbers(std::int64_t count, std::int64_t broken = -1) : count_(count), broken_(broken) {}

  const std::string& description() const override { return description_; }
  std::int64_t count() const override { return count_; }
  const Shape& sample_shape() const override { return shape_; }
  int classes() const override { return static_cast<int>(count_); }
  int label(std::int64_t index) const override { return static_cast<int>(index); }
  void read(std::int64_t index, float scale, std::span<float> values, float& label) const override {
    if (index == broken_) throw Error(cohort::ErrorKind::io, "a sample cannot be read");
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(100 * index + static_cast<int>(i)) * scale;
    label = static_cast<float>(index);
    ++reads_;
  }

  int reads() const { return reads_; }

 private:
  std::string description_ = "numbers";
  Shape shape_{1, 1, 5};
  std::int64_t count_;
  std::int64_t broken_;
  mutable std::atomic<int> reads_{0};
};

Sampler sampler_of(std::int64_t samples, std::int64_t global_batch, int ranks = 1, int rank = 0) {
  SamplerOptions options;
  options.samples = samples;
  options.global_batch = global_batch;
  options.ranks = ranks;
  options.rank = rank;
  options.seed = 11;
  return Sampler(options);
}

// 0 slots: no reading ahead.
LoaderOptions epochs(std::int64_t first, std::int64_t last, int slots = 8) {
  LoaderOptions options;
  options.scale = 0.5F;
  options.first_epoch = first;
  options.last_epoch = last;
  options.read_ahead = slots > 0;
  if (slots > 0) options.slots = slots;
  return options;
}

void check_batch(const Batch& batch, const Ids& ids) {
  REQUIRE(Ids(batch.ids.begin(), batch.ids.end()) == ids);
  REQUIRE(batch.count == static_cast<std::int64_t>(ids.size()));
  REQUIRE(batch.labels.size() == ids.size());
  REQUIRE(batch.data.size() == 5 * ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    REQUIRE(batch.labels[i] == static_cast<float>(ids[i]));
    for (std::size_t j = 0; j < 5; ++j) REQUIRE(batch.data[5 * i + j] == 0.5F * static_cast<float>(100 * ids[i] + j));
  }
}

void check_run(std::int64_t samples, std::int64_t global_batch, int ranks, int rank, int slots) {
  CAPTURE(samples, global_batch, ranks, rank, slots);
  const Numbers numbers(samples);
  const Sampler sampler = sampler_of(samples, global_batch, ranks, rank);
  Loader loader(numbers, sampler, epochs(2, 5, slots));
  for (std::int64_t epoch = 2; epoch < 5; ++epoch) {
    const Ids permutation = sampler.permutation(epoch);
    for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
      const Batch* batch = loader.next();
      REQUIRE(batch != nullptr);
      REQUIRE(batch->epoch == epoch);
      REQUIRE(batch->step == step);
      REQUIRE(batch->global_count == sampler.global_count(step));
      Ids ids;
      sampler.ids(permutation, step, rank, ids);
      check_batch(*batch, ids);
    }
  }
  REQUIRE(loader.next() == nullptr);
  REQUIRE(loader.next() == nullptr);
}

}  // namespace

TEST_CASE("loader, brings the sampler's batches in order") {
  for (const int slots : {0, 2, 3, 8})
    for (const std::int64_t samples : {1, 2, 13, 64})
      for (const std::int64_t global_batch : {1, 5, 64})
        for (int ranks = 1; ranks <= 3; ++ranks)
          for (int rank = 0; rank < ranks; ++rank) check_run(samples, global_batch, ranks, rank, slots);
}

TEST_CASE("loader, a consumer slower than the reader and one faster than it") {
  const Numbers numbers(64);
  const Sampler sampler = sampler_of(64, 4);
  Loader loader(numbers, sampler, epochs(0, 3, 4));
  std::int64_t batches = 0;
  while (const Batch* batch = loader.next()) {
    // Alternately lets the ring fill up and drains it.
    if (++batches % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Ids ids;
    sampler.ids(sampler.permutation(batch->epoch), batch->step, 0, ids);
    check_batch(*batch, ids);
  }
  CHECK(batches == 48);
}

TEST_CASE("loader, reads ahead no further than its slots") {
  const Numbers numbers(100);
  Loader loader(numbers, sampler_of(100, 1), epochs(0, 1, 4));
  loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(numbers.reads() <= 4);
}

TEST_CASE("loader, chooses a number of slots by the size of a batch") {
  const Numbers numbers(1000);
  LoaderOptions options = epochs(0, 1);
  options.slots = 0;
  Loader loader(numbers, sampler_of(1000, 1), options);
  loader.next();
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (numbers.reads() < 32 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  CHECK(numbers.reads() == 32);
}

TEST_CASE("loader, reads nothing before it is asked where it does not read ahead") {
  const Numbers numbers(100);
  Loader loader(numbers, sampler_of(100, 10), epochs(0, 1, 0));
  CHECK(numbers.reads() == 0);
  loader.next();
  CHECK(numbers.reads() == 10);
}

TEST_CASE("loader, no epochs are no batches") {
  const Numbers numbers(10);
  for (const int slots : {0, 8}) {
    Loader loader(numbers, sampler_of(10, 2), epochs(3, 3, slots));
    CHECK(loader.next() == nullptr);
  }
}

TEST_CASE("loader, an error comes after the batches before it, and again") {
  const Sampler sampler = sampler_of(20, 1);
  const Ids permutation = sampler.permutation(0);
  const std::uint32_t broken = GENERATE_COPY(13U, permutation[0], permutation[19]);
  const Numbers numbers(20, broken);
  const int slots = GENERATE(0, 8);
  Loader loader(numbers, sampler, epochs(0, 1, slots));
  for (std::size_t step = 0; permutation[step] != broken; ++step) REQUIRE(loader.next()->ids[0] == permutation[step]);
  for (int i = 0; i < 2; ++i) {
    try {
      loader.next();
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == cohort::ErrorKind::io);
      CHECK(error.message() == "a sample cannot be read");
    }
  }
}

TEST_CASE("loader, stops midway") {
  const Numbers numbers(1000);
  const Sampler sampler = sampler_of(1000, 10);
  for (int taken = 0; taken < 40; ++taken) {
    Loader loader(numbers, sampler, epochs(0, 1000, 2 + taken % 7));
    for (int i = 0; i < taken; ++i) REQUIRE(loader.next() != nullptr);
  }
}

TEST_CASE("loader, refuses a sampler of more samples than there are") {
  const Numbers numbers(10);
  CHECK_THROWS_AS(Loader(numbers, sampler_of(11, 2), epochs(0, 1)), Error);
}
