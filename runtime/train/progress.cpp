#include "runtime/train/progress.hpp"

#include <unistd.h>

#include <algorithm>

#include "kernels/base/log.hpp"

namespace cohort {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

Progress::Progress(const ProgressOptions& options, std::vector<std::string> metric_names)
    : options_(options), names_(std::move(metric_names)), window_(names_.size()) {}

void Progress::reset_window() {
  window_start_ = Clock::now();
  window_samples_ = 0;
  timed_all_ = 0;
  window_all_ = StepTotals{};
  std::fill(window_.begin(), window_.end(), MetricTotals{});
}

void Progress::begin_epoch(std::int64_t epoch, std::int64_t steps) {
  epoch_ = epoch;
  steps_ = steps;
  epoch_all_ = StepTotals{};
  epoch_start_ = Clock::now();
  reset_window();
}

void Progress::step(std::int64_t step, std::int64_t local_samples, const StepMeasure& local, const StepTotals& all) {
  if (!options_.shown) return;
  const auto add = [](StepTotals& totals, const StepTotals& more) {
    totals.samples += more.samples;
    totals.loss_sum += more.loss_sum;
    totals.correct += more.correct;
  };
  add(window_all_, all);
  add(epoch_all_, all);
  for (std::size_t i = 0; i < window_.size(); ++i) {
    window_[i].sum += local.metrics[i].sum;
    window_[i].count += local.metrics[i].count;
  }
  if (step == 0) {
    // The clock of the first window starts after the first step, whose values it still counts.
    window_start_ = Clock::now();
  } else {
    window_samples_ += local_samples;
    timed_all_ += all.samples;
  }
  if (options_.style == LogStyle::progress) show_bar(step);
  if (step == 0 || step % options_.period != 0) return;
  if (options_.style == LogStyle::mxnet) show_window(step);
  reset_window();
}

void Progress::show_window(std::int64_t step) {
  const double elapsed = seconds_since(window_start_);
  std::string values;
  for (std::size_t i = 0; i < names_.size(); ++i) values += fmt::format("\t{}={:.6f}", names_[i], window_[i].value());
  const std::string range = fmt::format("Epoch[{}] Batch [{}-{}]", epoch_, step - options_.period, step);
  log_info("INFO:root:{}\tSpeed: {:.2f} samples/sec{}", range, static_cast<double>(window_samples_) / elapsed, values);
  const auto samples = static_cast<double>(window_all_.samples);
  log_info("INFO:root:{}\tGlobal speed: {:.2f} samples/sec over {} rank{}\taccuracy={:.6f}\tloss={:.6f}", range,
           static_cast<double>(timed_all_) / elapsed, options_.ranks, options_.ranks == 1 ? "" : "s",
           window_all_.correct / samples, window_all_.loss_sum / samples);
}

void Progress::show_bar(std::int64_t step) {
  constexpr auto refresh = std::chrono::milliseconds(100);
  constexpr std::size_t width = 30;
  if (Clock::now() - last_bar_ < refresh && step + 1 < steps_) return;
  last_bar_ = Clock::now();
  const double share = static_cast<double>(step + 1) / static_cast<double>(std::max<std::int64_t>(steps_, 1));
  const auto filled = std::min(width, static_cast<std::size_t>(share * static_cast<double>(width)));
  const auto samples = static_cast<double>(std::max<std::int64_t>(epoch_all_.samples, 1));
  const std::string text =
      fmt::format("\rEpoch {} [{}{}] {:3.0f}% {:8.0f} samples/s accuracy {:.4f} loss {:.4f} ", epoch_,
                  std::string(filled, '='), std::string(width - filled, '.'), share * 100,
                  samples / seconds_since(epoch_start_), epoch_all_.correct / samples, epoch_all_.loss_sum / samples);
  // A bar is decoration: a failed write changes nothing.
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

void Progress::line(const std::string& text) {
  if (options_.shown && options_.style != LogStyle::quiet) log_info("INFO:root:{}", text);
}

void Progress::end_epoch(const EpochRecord& record) {
  if (options_.style == LogStyle::progress && options_.shown) log_info("");
  for (const auto& [name, value] : record.train)
    line(fmt::format("Epoch[{}] Train-{}={:.6f}", record.epoch, name, value));
  line(fmt::format("Epoch[{}] Time cost={:.3f}", record.epoch, record.seconds));
}

void Progress::validation(const EpochRecord& record) {
  for (const auto& [name, value] : record.validation)
    line(fmt::format("Epoch[{}] Validation-{}={:.6f}", record.epoch, name, value));
}

}  // namespace cohort
