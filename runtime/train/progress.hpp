// What a run shows while it trains: MXNet's log lines with the figures of all ranks beside them, or a live bar.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/train/module.hpp"
#include "runtime/train/run_log.hpp"

namespace cohort {

enum class LogStyle { mxnet, progress, quiet };

struct ProgressOptions {
  LogStyle style = LogStyle::mxnet;
  int period = 20;  // steps between lines
  int ranks = 1;
  bool shown = true;  // false on every rank but 0
};

// One step as every rank knows it.
struct StepTotals {
  std::int64_t samples = 0;  // of all ranks
  double loss_sum = 0;
  double correct = 0;
};

// Windows of `period` steps by MXNet's rules: the first line after step `period`, a range [n-period, n], values since
// the line before. `Speed` counts this rank's samples, `Global speed` those of all ranks.
class Progress {
 public:
  Progress(const ProgressOptions& options, std::vector<std::string> metric_names);

  void begin_epoch(std::int64_t epoch, std::int64_t steps);
  void step(std::int64_t step, std::int64_t local_samples, const StepMeasure& local, const StepTotals& all);
  // The lines at an epoch's end. `train` is over all ranks.
  void end_epoch(const EpochRecord& record);
  void validation(const EpochRecord& record);
  void line(const std::string& text);

 private:
  void show_window(std::int64_t step);
  void show_bar(std::int64_t step);
  void reset_window();

  ProgressOptions options_;
  std::vector<std::string> names_;
  std::int64_t epoch_ = 0;
  std::int64_t steps_ = 0;
  std::chrono::steady_clock::time_point window_start_;
  std::chrono::steady_clock::time_point epoch_start_;
  std::chrono::steady_clock::time_point last_bar_;
  std::int64_t window_samples_ = 0;
  std::vector<MetricTotals> window_;
  StepTotals window_all_;
  std::int64_t timed_all_ = 0;
  StepTotals epoch_all_;
};

}  // namespace cohort
