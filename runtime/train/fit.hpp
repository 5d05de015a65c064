// The training loop: epochs of steps, validation, checkpoints, and what is said about them.
#pragma once

#include <cstdint>
#include <string>

#include "collectives/world.hpp"
#include "runtime/config.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/data/loader.hpp"
#include "runtime/data/sampler.hpp"
#include "runtime/kvstore/kvstore.hpp"
#include "runtime/train/faults.hpp"
#include "runtime/train/id_dump.hpp"
#include "runtime/train/learning_rate.hpp"
#include "runtime/train/module.hpp"
#include "runtime/train/progress.hpp"
#include "runtime/train/run_log.hpp"

namespace cohort {

// What a run works with; everything outlives it.
struct FitParts {
  World& world;
  KVStore& store;
  Module& module;
  const Dataset& train;
  const Dataset& validation;
  const Sampler& sampler;
  const LearningRatePlan& rate;
  const Faults& faults;
  RunLog& run_log;
  IdDump& dump;
  Progress& progress;
};

struct FitResult {
  std::int64_t steps = 0;
  std::int64_t samples = 0;  // over all ranks
  double seconds = 0;        // of training, without validation
  std::int64_t epochs = 0;   // finished ones
  NamedValues validation;    // of the last evaluated epoch; empty: none
};

// Collective. A limit on steps or seconds ends the run at the same step on every rank; the epoch it cuts short is
// neither evaluated nor saved. `reading` says how samples are read; the epochs in it are set here.
FitResult fit(const FitParts& parts, const TrainConfig& config, const LoaderOptions& reading, int first_epoch);

// Mean of every metric over the whole validation set, all ranks together. Collective.
NamedValues evaluate(const FitParts& parts, std::int64_t batch_per_rank, LoaderOptions reading);

// The sampler that evaluate() uses: rank's contiguous part of each step, nothing shuffled, nothing dropped.
Sampler validation_sampler(const Dataset& validation, const World& world, std::int64_t batch_per_rank);

// Reads one epoch and trains nothing (--test-io 1). Collective.
void test_io(const FitParts& parts, const TrainConfig& config, LoaderOptions reading);

}  // namespace cohort
