// Which samples each rank trains on at each step: one permutation per epoch, shared by all ranks, cut by rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cohort {

// The last, short step of an epoch. exact: every sample once, shares differ by at most one, weighted by the true count.
// pad: wraps around to full size. discard: dropped. mxnet: every rank keeps floor(X/N)-sized shares of the permutation
// and makes E = ceil(floor(X/N)/B) full batches, wrapping inside its share. error: unequal shares stop the job.
enum class TailRule { exact, pad, discard, mxnet, error };
std::string_view to_string(TailRule rule);
std::optional<TailRule> tail_from_name(std::string_view name);

struct SamplerOptions {
  std::int64_t samples = 0;
  std::int64_t global_batch = 0;  // samples per step over all ranks
  int ranks = 1;
  int rank = 0;
  std::uint64_t seed = 0;
  TailRule tail = TailRule::exact;
  bool shuffle = true;
};

// A pure function of its options: every rank can compute every other rank's part. Copies.
class Sampler {
 public:
  // Throws Error(usage) for tail `error` with unequal shares (naming rank and counts), for tail `mxnet` with a global
  // batch that is no multiple of the ranks, or when an epoch would be empty.
  explicit Sampler(const SamplerOptions& options);

  const SamplerOptions& options() const { return options_; }
  std::int64_t steps_per_epoch() const { return steps_; }
  // Samples of the step over all ranks, and of one rank; the same in every epoch.
  std::int64_t global_count(std::int64_t step) const;
  std::int64_t local_count(std::int64_t step, int rank) const;
  // Distinct local_count values of this rank that are not 0, largest first: an executor is bound for each.
  std::vector<std::int64_t> local_batches() const;

  // The epoch's permutation, for ids(). O(samples).
  std::vector<std::uint32_t> permutation(std::int64_t epoch) const;
  // Sample ids of one rank's part of a step, appended to `ids`.
  void ids(const std::vector<std::uint32_t>& permutation, std::int64_t step, int rank,
           std::vector<std::uint32_t>& ids) const;

 private:
  SamplerOptions options_;
  std::int64_t steps_ = 0;
};

}  // namespace cohort
