// The reader: batches of one rank, in the sampler's order, assembled in staging slots, ahead of their use or on demand.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <thread>

#include "runtime/data/dataset.hpp"
#include "runtime/data/sampler.hpp"

namespace cohort {

// One rank's part of a step, in a staging slot that stays valid until the next call of next().
struct Batch {
  std::int64_t epoch = 0;
  std::int64_t step = 0;          // in the epoch
  std::int64_t count = 0;         // samples of this rank; may be 0
  std::int64_t global_count = 0;  // samples of all ranks
  std::span<const float> data;    // count samples, row-major
  std::span<const float> labels;
  std::span<const std::uint32_t> ids;
};

struct LoaderOptions {
  float scale = 1;
  std::int64_t first_epoch = 0;
  std::int64_t last_epoch = 1;  // exclusive
  // A thread assembles batches ahead of their use. Without it next() does the work: a rank that has no core to spare
  // is faster so than with two threads on one core.
  bool read_ahead = true;
  // Of the reading thread; 0: as many as 8 MB hold, 4 to 32. The consumer wakes the thread once for half of the slots,
  // which costs it as much as a tenth of a small step.
  int slots = 0;
};

// Runs through all epochs without a stop between them: the next epoch's permutation is made while the ring of slots is
// full. Nothing is allocated per batch. An error of reading is thrown by next(), after the batches before it.
// Destruction stops the thread. The data set must outlive the loader; the sampler is copied. One consumer thread.
class Loader {
 public:
  Loader(const Dataset& dataset, const Sampler& sampler, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // The next batch, or null after the last step of the last epoch. Waits for the thread where that has fallen behind.
  const Batch* next();

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::thread reader_;
};

}  // namespace cohort
