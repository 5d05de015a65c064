#include "runtime/data/sampler.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"

namespace cohort {
namespace {

constexpr std::array<std::pair<TailRule, std::string_view>, 5> tail_names{{{TailRule::exact, "exact"},
                                                                           {TailRule::pad, "pad"},
                                                                           {TailRule::discard, "discard"},
                                                                           {TailRule::mxnet, "mxnet"},
                                                                           {TailRule::error, "error"}}};

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

// Contiguous parts that differ by at most one; the first parts are the larger ones.
std::int64_t part_size(std::int64_t whole, int parts, int part) {
  return whole / parts + (part < whole % parts ? 1 : 0);
}
std::int64_t part_begin(std::int64_t whole, int parts, int part) {
  return whole / parts * part + std::min<std::int64_t>(whole % parts, part);
}

std::int64_t steps_of(const SamplerOptions& options) {
  switch (options.tail) {
    case TailRule::discard: return options.samples / options.global_batch;
    case TailRule::mxnet: return divide_up(options.samples / options.ranks, options.global_batch / options.ranks);
    case TailRule::exact:
    case TailRule::pad:
    case TailRule::error: return divide_up(options.samples, options.global_batch);
  }
  return 0;
}

void check(const SamplerOptions& options) {
  COHORT_CHECK(options.ranks > 0 && options.rank >= 0 && options.rank < options.ranks, "sampler: rank {} of {}",
               options.rank, options.ranks);
  COHORT_CHECK(options.samples <= std::numeric_limits<std::uint32_t>::max(), "sampler: {} samples exceed 32-bit ids",
               options.samples);
  if (options.samples <= 0) throw_usage("there are no samples to train on");
  if (options.global_batch <= 0)
    throw_usage("a step of {} samples: the batch size must be positive", options.global_batch);
  if (options.tail == TailRule::mxnet && options.global_batch % options.ranks != 0)
    throw_usage("--tail mxnet gives every rank the same batch: a global batch of {} cannot be cut for {} ranks",
                options.global_batch, options.ranks);
}

}  // namespace

std::string_view to_string(TailRule rule) {
  for (const auto& [value, name] : tail_names)
    if (value == rule) return name;
  return "unknown";
}

std::optional<TailRule> tail_from_name(std::string_view name) {
  for (const auto& [value, text] : tail_names)
    if (text == name) return value;
  return std::nullopt;
}

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  check(options_);
  steps_ = steps_of(options_);
  if (steps_ == 0)
    throw_usage("--tail {} leaves nothing of {} samples for {} ranks and {} samples per step", to_string(options_.tail),
                options_.samples, options_.ranks, options_.global_batch);
  if (options_.tail != TailRule::error) return;
  const int last = options_.ranks - 1;
  for (const std::int64_t step : {std::int64_t{0}, steps_ - 1})
    if (local_count(step, 0) != local_count(step, last))
      throw_usage(
          "--tail error: step {} has {} samples, of which rank 0 would take {} and rank {} {} ({} samples in "
          "all, {} per step)",
          step, global_count(step), local_count(step, 0), last, local_count(step, last), options_.samples,
          options_.global_batch);
}

std::int64_t Sampler::global_count(std::int64_t step) const {
  const bool short_step = options_.tail == TailRule::exact || options_.tail == TailRule::error;
  return short_step ? std::min(options_.global_batch, options_.samples - step * options_.global_batch)
                    : options_.global_batch;
}

std::int64_t Sampler::local_count(std::int64_t step, int rank) const {
  return part_size(global_count(step), options_.ranks, rank);
}

std::vector<std::int64_t> Sampler::local_batches() const {
  std::vector<std::int64_t> batches;
  for (const std::int64_t step : {std::int64_t{0}, steps_ - 1}) {
    const std::int64_t count = local_count(step, options_.rank);
    if (count > 0 && (batches.empty() || batches.back() != count)) batches.push_back(count);
  }
  return batches;
}

std::vector<std::uint32_t> Sampler::permutation(std::int64_t epoch) const {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(options_.samples));
  std::iota(order.begin(), order.end(), 0U);
  if (!options_.shuffle) return order;
  const RandomStream stream(options_.seed, "sample order", static_cast<std::uint64_t>(epoch));
  for (std::size_t last = order.size() - 1; last > 0; --last)
    std::swap(order[last], order[stream.below(last + 1, last)]);
  return order;
}

void Sampler::ids(const std::vector<std::uint32_t>& permutation, std::int64_t step, int rank,
                  std::vector<std::uint32_t>& ids) const {
  const std::int64_t count = local_count(step, rank);
  // The part of the permutation in which this rank's positions wrap around, and where in it the step begins.
  std::int64_t share = options_.samples, share_begin = 0;
  std::int64_t position = step * options_.global_batch + part_begin(global_count(step), options_.ranks, rank);
  if (options_.tail == TailRule::mxnet) {
    share = options_.samples / options_.ranks;
    share_begin = share * rank;
    position = step * count;
  }
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back(permutation[static_cast<std::size_t>(share_begin + (position + i) % share)]);
}

}  // namespace cohort
