#include "runtime/train/fit.hpp"

#include <chrono>
#include <cmath>
#include <optional>

#include "kernels/base/log.hpp"
#include "runtime/train/checkpoint.hpp"

namespace cohort {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}

// Sums every metric over all ranks and divides once.
NamedValues reduce_metrics(World& world, const Module& module, const std::vector<MetricTotals>& totals) {
  std::vector<double> sums;
  for (const MetricTotals& total : totals) {
    sums.push_back(total.sum);
    sums.push_back(total.count);
  }
  world.all().allreduce(view_of(sums.data(), static_cast<std::int64_t>(sums.size())), ReduceOp::sum,
                        "metrics of all ranks");
  NamedValues values;
  for (std::size_t i = 0; i < totals.size(); ++i)
    values.emplace_back(module.metrics()[i]->name(), MetricTotals{sums[2 * i], sums[2 * i + 1]}.value());
  return values;
}

void add(std::vector<MetricTotals>& totals, const std::vector<MetricTotals>& more) {
  for (std::size_t i = 0; i < totals.size(); ++i) {
    totals[i].sum += more[i].sum;
    totals[i].count += more[i].count;
  }
}

// MXNet's monitor: root mean square of parameters and outputs.
void show_statistics(const Module& module, std::int64_t step, Progress& progress) {
  const auto show = [&](const std::string& name, const NDArray& array) {
    double squares = 0;
    const float* values = array.data();
    for (std::int64_t i = 0; i < array.count(); ++i) squares += static_cast<double>(values[i]) * values[i];
    progress.line(fmt::format("Batch: {:7} {:<30} {:g}", step, name,
                              std::sqrt(squares) / std::sqrt(static_cast<double>(array.count()))));
  };
  const std::vector<std::string> names = module.symbol().list_outputs();
  const std::vector<NDArray>& outputs = module.last_executor().outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) show(names[i], outputs[i]);
  for (const auto& [name, array] : module.parameters()) show(name, array);
}

// One run of fit: the state between its steps.
class Run {
 public:
  Run(const FitParts& parts, const TrainConfig& config, const LoaderOptions& reading, int first_epoch)
      : parts_(parts), config_(config), reading_(reading), epoch_metrics_(parts.module.metrics().size()) {
    reading_.first_epoch = first_epoch;
    reading_.last_epoch = config.num_epochs;
  }

  FitResult train() {
    Loader loader(parts_.train, parts_.sampler, reading_);
    start_ = Clock::now();
    bool stopped = false;
    while (!stopped) {
      parts_.faults.delay(FaultPhase::data, result_.steps);
      const Batch* batch = loader.next();
      if (!batch) break;
      if (batch->step == 0) begin_epoch(*batch);
      stopped = step(*batch);
      const bool whole = batch->step + 1 == parts_.sampler.steps_per_epoch();
      if (whole || stopped) end_epoch(*batch, whole);
    }
    return result_;
  }

 private:
  void begin_epoch(const Batch& batch) {
    epoch_start_ = Clock::now();
    epoch_samples_ = 0;
    std::fill(epoch_metrics_.begin(), epoch_metrics_.end(), MetricTotals{});
    parts_.progress.begin_epoch(batch.epoch, parts_.sampler.steps_per_epoch());
  }

  // Trains on one batch; true when the run ends with this step.
  bool step(const Batch& batch) {
    try {
      parts_.module.set_global_count(batch.global_count);
      announce_rate();
      parts_.faults.delay(FaultPhase::compute, result_.steps);
      StepReport report;
      report.stop = config_.max_seconds > 0 && trained_seconds() >= config_.max_seconds;
      const StepMeasure& local = parts_.module.forward_backward(batch, report);
      parts_.module.update();
      record(batch, local);
    } catch (Error& error) {
      throw error.add_context(fmt::format("training step {} of epoch {}", batch.step, batch.epoch));
    }
    return stop_asked_ || (config_.max_steps > 0 && result_.steps >= config_.max_steps);
  }

  void record(const Batch& batch, const StepMeasure& local) {
    StepTotals all;
    stop_asked_ = false;
    for (const StepReport& report : parts_.store.reports()) {
      all.samples += report.samples;
      all.loss_sum += report.loss_sum;
      all.correct += report.correct;
      stop_asked_ = stop_asked_ || report.stop;
    }
    COHORT_CHECK(all.samples == batch.global_count, "the ranks trained on {} samples instead of {}", all.samples,
                 batch.global_count);
    if (!std::isfinite(all.loss_sum) && !warned_) {
      warned_ = true;
      if (parts_.world.rank() == 0)
        log_warning(fmt::format("the loss is {} at step {} of epoch {}: the weights are lost; a lower --lr may help",
                                std::isnan(all.loss_sum) ? "nan" : "infinite", batch.step, batch.epoch));
    }
    parts_.dump.step(result_.steps, batch);
    ++result_.steps;
    result_.samples += all.samples;
    epoch_samples_ += all.samples;
    add(epoch_metrics_, local.metrics);
    parts_.progress.step(batch.step, batch.count, local, all);
    if (config_.monitor > 0 && result_.steps % config_.monitor == 0 && batch.count > 0)
      show_statistics(parts_.module, result_.steps, parts_.progress);
    if (!parts_.run_log.enabled()) return;
    const auto samples = static_cast<double>(all.samples);
    parts_.run_log.step({batch.epoch, batch.step, result_.steps, all.samples, all.loss_sum / samples,
                         all.correct / samples, rate_, trained_seconds()});
  }

  void announce_rate() {
    const double rate = static_cast<double>(parts_.module.optimizer().learning_rate());
    if (rate == rate_) return;
    if (parts_.rate.stepwise && result_.steps > 0)
      parts_.progress.line(
          fmt::format("Update[{}]: Change learning rate to {:.5e}", parts_.module.optimizer().updates() + 1, rate));
    rate_ = rate;
  }

  void end_epoch(const Batch& batch, bool whole) {
    EpochRecord record;
    record.epoch = batch.epoch;
    record.steps = batch.step + 1;
    record.samples = epoch_samples_;
    record.seconds = seconds_between(epoch_start_, Clock::now());
    record.train = reduce_metrics(parts_.world, parts_.module, epoch_metrics_);
    parts_.progress.end_epoch(record);
    const auto pause = Clock::now();
    if (whole) {
      ++result_.epochs;
      save(static_cast<int>(batch.epoch) + 1);
      if (parts_.validation.count() > 0) {
        record.validation = evaluate(parts_, config_.batch_size, reading_);
        result_.validation = record.validation;
        parts_.progress.validation(record);
      }
    }
    parts_.run_log.epoch(record);
    result_.seconds += record.seconds;
    // Validation and saving are no training time.
    paused_ += seconds_between(pause, Clock::now());
  }

  void save(int epochs_done) {
    if (config_.model_prefix.empty() || epochs_done % config_.save_period != 0 || parts_.world.rank() != 0) return;
    save_checkpoint(config_.model_prefix, epochs_done, parts_.module.symbol(), parts_.module.parameters());
    parts_.progress.line(fmt::format("Saved checkpoint to \"{}\"", params_path(config_.model_prefix, epochs_done)));
    parts_.run_log.event("checkpoint", params_path(config_.model_prefix, epochs_done));
  }

  double trained_seconds() const { return seconds_between(start_, Clock::now()) - paused_; }

  const FitParts& parts_;
  const TrainConfig& config_;
  LoaderOptions reading_;
  FitResult result_;
  Clock::time_point start_;
  Clock::time_point epoch_start_;
  double paused_ = 0;
  std::int64_t epoch_samples_ = 0;
  std::vector<MetricTotals> epoch_metrics_;
  double rate_ = -1;
  bool stop_asked_ = false;
  bool warned_ = false;  // of a loss that is no number
};

}  // namespace

FitResult fit(const FitParts& parts, const TrainConfig& config, const LoaderOptions& reading, int first_epoch) {
  return Run(parts, config, reading, first_epoch).train();
}

Sampler validation_sampler(const Dataset& validation, const World& world, std::int64_t batch_per_rank) {
  SamplerOptions options;
  options.samples = validation.count();
  options.global_batch = batch_per_rank * world.size();
  options.ranks = world.size();
  options.rank = world.rank();
  options.tail = TailRule::exact;
  options.shuffle = false;
  return Sampler(options);
}

NamedValues evaluate(const FitParts& parts, std::int64_t batch_per_rank, LoaderOptions reading) {
  const Sampler sampler = validation_sampler(parts.validation, parts.world, batch_per_rank);
  reading.first_epoch = 0;
  reading.last_epoch = 1;
  Loader loader(parts.validation, sampler, reading);
  std::vector<MetricTotals> totals(parts.module.metrics().size());
  while (const Batch* batch = loader.next())
    if (batch->count > 0) add(totals, parts.module.score(*batch).metrics);
  return reduce_metrics(parts.world, parts.module, totals);
}

void test_io(const FitParts& parts, const TrainConfig& config, LoaderOptions reading) {
  reading.first_epoch = 0;
  reading.last_epoch = 1;
  Loader loader(parts.train, parts.sampler, reading);
  Clock::time_point start = Clock::now();
  std::int64_t samples = 0;
  while (const Batch* batch = loader.next()) {
    samples += batch->count;
    if ((batch->step + 1) % config.disp_batches != 0) continue;
    const auto now = Clock::now();
    parts.progress.line(fmt::format("Batch [{}]\tSpeed: {:.2f} samples/sec", batch->step,
                                    static_cast<double>(samples) / seconds_between(start, now)));
    start = now;
    samples = 0;
  }
  parts.store.barrier();
}

}  // namespace cohort
