// Which samples each rank gets: exact, the same at any number of ranks, and equally many steps everywhere.
#include "runtime/data/sampler.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <string>

#include "kernels/base/error.hpp"
#include "test/support/catch.hpp"

using cohort::Error;
using cohort::Sampler;
using cohort::SamplerOptions;
using cohort::TailRule;
using Ids = std::vector<std::uint32_t>;

namespace {

Ids ids_of(const Sampler& sampler, const Ids& permutation, std::int64_t step, int rank) {
  Ids ids;
  sampler.ids(permutation, step, rank, ids);
  return ids;
}

Ids global_ids(const Sampler& sampler, const Ids& permutation, std::int64_t step) {
  Ids ids;
  for (int rank = 0; rank < sampler.options().ranks; ++rank) sampler.ids(permutation, step, rank, ids);
  return ids;
}

Ids sorted(Ids ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

// 0 ... count-1.
Ids iota(std::int64_t count) {
  Ids ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0U);
  return ids;
}

std::string usage_error(const SamplerOptions& options) {
  try {
    const Sampler sampler(options);
  } catch (const Error& error) {
    CHECK(error.kind() == cohort::ErrorKind::usage);
    return error.what();
  }
  return {};
}

// All small jobs: samples, samples per step over all ranks, ranks.
void for_each_job(const std::function<void(SamplerOptions)>& test) {
  for (std::int64_t samples = 1; samples <= 50; ++samples)
    for (const std::int64_t batch : {1, 3, 8})
      for (int ranks = 1; ranks <= 5; ++ranks) {
        SamplerOptions options;
        options.samples = samples;
        options.global_batch = batch * ranks;
        options.ranks = ranks;
        options.seed = 5;
        CAPTURE(samples, batch, ranks);
        test(options);
      }
}

// Every rank, asked on its own, agrees with rank 0 on all shares, and the shares are what ids() brings.
void check_shares(SamplerOptions options) {
  const Sampler first(options);
  const Ids permutation = first.permutation(1);
  for (int rank = 0; rank < options.ranks; ++rank) {
    options.rank = rank;
    const Sampler own(options);
    REQUIRE(own.steps_per_epoch() == first.steps_per_epoch());
    REQUIRE(own.permutation(1) == permutation);
    std::set<std::int64_t, std::greater<>> counts;
    for (std::int64_t step = 0; step < own.steps_per_epoch(); ++step) {
      const std::int64_t count = own.local_count(step, rank);
      REQUIRE(static_cast<std::int64_t>(ids_of(own, permutation, step, rank).size()) == count);
      REQUIRE(first.local_count(step, rank) == count);
      if (count > 0) counts.insert(count);
    }
    REQUIRE(own.local_batches() == std::vector<std::int64_t>(counts.begin(), counts.end()));
  }
  for (std::int64_t step = 0; step < first.steps_per_epoch(); ++step)
    REQUIRE(static_cast<std::int64_t>(global_ids(first, permutation, step).size()) == first.global_count(step));
}

}  // namespace

TEST_CASE("sampler, exact uses every sample once") {
  for_each_job([](SamplerOptions options) {
    check_shares(options);
    const Sampler sampler(options);
    const Ids permutation = sampler.permutation(0);
    REQUIRE(sorted(permutation) == iota(options.samples));
    Ids epoch;
    for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
      const Ids ids = global_ids(sampler, permutation, step);
      epoch.insert(epoch.end(), ids.begin(), ids.end());
      const auto [least, most] = [&] {
        std::vector<std::int64_t> counts;
        counts.reserve(static_cast<std::size_t>(options.ranks));
        for (int rank = 0; rank < options.ranks; ++rank) counts.push_back(sampler.local_count(step, rank));
        REQUIRE(std::is_sorted(counts.begin(), counts.end(), std::greater<>()));
        return std::pair(counts.back(), counts.front());
      }();
      REQUIRE(most - least <= 1);
    }
    REQUIRE(epoch == permutation);
  });
}

TEST_CASE("sampler, a step has the same samples at any number of ranks") {
  for (const TailRule tail : {TailRule::exact, TailRule::pad, TailRule::discard})
    for (const std::int64_t global_batch : {1, 7, 24}) {
      SamplerOptions options;
      options.samples = 50;
      options.global_batch = global_batch;
      options.tail = tail;
      const Sampler alone(options);
      const Ids permutation = alone.permutation(3);
      for (options.ranks = 1; options.ranks <= 5; ++options.ranks) {
        const Sampler shared(options);
        REQUIRE(shared.permutation(3) == permutation);
        REQUIRE(shared.steps_per_epoch() == alone.steps_per_epoch());
        for (std::int64_t step = 0; step < alone.steps_per_epoch(); ++step)
          REQUIRE(global_ids(shared, permutation, step) == ids_of(alone, permutation, step, 0));
      }
    }
}

TEST_CASE("sampler, pad wraps around to full steps") {
  for_each_job([](SamplerOptions options) {
    options.tail = TailRule::pad;
    check_shares(options);
    const Sampler sampler(options);
    const Ids permutation = sampler.permutation(0);
    Ids epoch;
    for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
      REQUIRE(sampler.global_count(step) == options.global_batch);
      const Ids ids = global_ids(sampler, permutation, step);
      epoch.insert(epoch.end(), ids.begin(), ids.end());
    }
    REQUIRE(static_cast<std::int64_t>(epoch.size()) - options.samples < options.global_batch);
    for (std::size_t i = 0; i < epoch.size(); ++i) REQUIRE(epoch[i] == permutation[i % permutation.size()]);
  });
}

TEST_CASE("sampler, discard drops the short step") {
  for_each_job([](SamplerOptions options) {
    options.tail = TailRule::discard;
    if (options.samples < options.global_batch) {
      REQUIRE(usage_error(options).find("--tail discard leaves nothing of " + std::to_string(options.samples) +
                                        " samples") != std::string::npos);
      return;
    }
    check_shares(options);
    const Sampler sampler(options);
    REQUIRE(sampler.steps_per_epoch() == options.samples / options.global_batch);
    const Ids permutation = sampler.permutation(0);
    Ids epoch;
    for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
      const Ids ids = global_ids(sampler, permutation, step);
      epoch.insert(epoch.end(), ids.begin(), ids.end());
    }
    REQUIRE(std::equal(epoch.begin(), epoch.end(), permutation.begin()));
  });
}

TEST_CASE("sampler, mxnet makes full batches out of equal shares") {
  for_each_job([](SamplerOptions options) {
    options.tail = TailRule::mxnet;
    const std::int64_t share = options.samples / options.ranks;
    const std::int64_t batch = options.global_batch / options.ranks;
    if (share == 0) {
      REQUIRE(usage_error(options).find("--tail mxnet leaves nothing") != std::string::npos);
      return;
    }
    check_shares(options);
    const Sampler sampler(options);
    REQUIRE(sampler.steps_per_epoch() == (share + batch - 1) / batch);
    const Ids permutation = sampler.permutation(0);
    for (int rank = 0; rank < options.ranks; ++rank) {
      Ids epoch;
      for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) sampler.ids(permutation, step, rank, epoch);
      for (std::size_t i = 0; i < epoch.size(); ++i)
        REQUIRE(epoch[i] == permutation[static_cast<std::size_t>(share * rank) + i % static_cast<std::size_t>(share)]);
    }
  });
}

TEST_CASE("sampler, error refuses unequal shares") {
  for_each_job([](SamplerOptions options) {
    options.tail = TailRule::error;
    if (options.samples % options.global_batch % options.ranks == 0) {
      check_shares(options);
      REQUIRE(Sampler(options).global_count(0) == std::min(options.samples, options.global_batch));
    } else {
      REQUIRE_FALSE(usage_error(options).empty());
    }
  });
  SamplerOptions options;
  options.samples = 1001;
  options.global_batch = 30;
  options.ranks = 3;
  options.tail = TailRule::error;
  CHECK(usage_error(options) ==
        "--tail error: step 33 has 11 samples, of which rank 0 would take 4 and rank 2 3 (1001 samples in all, 30 per "
        "step)");
}

TEST_CASE("sampler, permutations depend on seed and epoch") {
  SamplerOptions options;
  options.samples = 1000;
  options.global_batch = 10;
  const Sampler zero(options);
  options.seed = 1;
  const Sampler one(options);
  CHECK(zero.permutation(0) == zero.permutation(0));
  CHECK(zero.permutation(0) != zero.permutation(1));
  CHECK(zero.permutation(0) != one.permutation(0));
  CHECK(sorted(one.permutation(7)) == iota(1000));
  options.shuffle = false;
  CHECK(Sampler(options).permutation(7) == iota(1000));
}

TEST_CASE("sampler, every sample is equally likely at every position") {
  SamplerOptions options;
  options.samples = 4;
  options.global_batch = 1;
  const Sampler sampler(options);
  int counts[4][4] = {};
  for (std::int64_t epoch = 0; epoch < 4000; ++epoch) {
    const Ids permutation = sampler.permutation(epoch);
    for (std::size_t position = 0; position < 4; ++position) ++counts[position][permutation[position]];
  }
  // 1000 expected; 137 is five standard deviations.
  for (const auto& position : counts)
    for (const int count : position) CHECK(std::abs(count - 1000) < 137);
}

TEST_CASE("sampler, refuses what cannot be cut") {
  SamplerOptions options;
  options.global_batch = 4;
  CHECK(usage_error(options) == "there are no samples to train on");
  options.samples = 10;
  options.global_batch = 0;
  CHECK(usage_error(options) == "a step of 0 samples: the batch size must be positive");
  options.global_batch = 7;
  options.ranks = 2;
  options.tail = TailRule::mxnet;
  CHECK(usage_error(options) ==
        "--tail mxnet gives every rank the same batch: a global batch of 7 cannot be cut for 2 ranks");
}

TEST_CASE("sampler, tail rules have names") {
  for (const TailRule rule : {TailRule::exact, TailRule::pad, TailRule::discard, TailRule::mxnet, TailRule::error})
    CHECK(cohort::tail_from_name(cohort::to_string(rule)) == rule);
  CHECK_FALSE(cohort::tail_from_name("Exact").has_value());
}
