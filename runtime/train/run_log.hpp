// The run log: one JSON object per line, described in docs/run-log.md. Written by rank 0.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "collectives/world.hpp"
#include "kernels/base/files.hpp"
#include "runtime/config.hpp"

namespace cohort {

using NamedValues = std::vector<std::pair<std::string, double>>;

struct RunDescription {
  std::string network;
  std::int64_t parameters = 0;
  std::string data;
  std::int64_t train_samples = 0;
  std::int64_t validation_samples = 0;
  std::int64_t steps_per_epoch = 0;
  std::int64_t global_batch = 0;
  std::string kv_store;
  std::string weights_placement;
  int threads = 1;
};

struct StepRecord {
  std::int64_t epoch = 0;
  std::int64_t step = 0;         // in the epoch
  std::int64_t global_step = 0;  // in this run, from 1
  std::int64_t samples = 0;      // over all ranks
  double loss = 0;               // mean over those samples
  double accuracy = 0;
  double learning_rate = 0;
  double seconds = 0;  // since training began
};

struct EpochRecord {
  std::int64_t epoch = 0;
  std::int64_t steps = 0;
  std::int64_t samples = 0;  // over all ranks
  double seconds = 0;        // of training, without validation
  NamedValues train;
  NamedValues validation;  // empty: not evaluated
};

// Every call writes one line; an empty path makes all of them do nothing. A line that cannot be written throws
// Error(io).
class RunLog {
 public:
  explicit RunLog(const std::string& path);

  bool enabled() const { return file_ != nullptr; }
  void start(const TrainConfig& config, const World& world, const RunDescription& run);
  void step(const StepRecord& record);
  void epoch(const EpochRecord& record);
  void event(const std::string& what, const std::string& detail);
  void end(const std::string& status, std::int64_t steps, std::int64_t samples, double seconds);

 private:
  void write(const std::string& line);

  std::string path_;
  FilePointer file_;
};

}  // namespace cohort
