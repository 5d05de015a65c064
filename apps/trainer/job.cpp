#include "apps/trainer/job.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>

#include "collectives/agreed_step.hpp"
#include "kernels/base/compute_threads.hpp"
#include "kernels/base/host_memory.hpp"
#include "kernels/base/log.hpp"
#include "runtime/models/models.hpp"
#include "runtime/train/checkpoint.hpp"
#include "runtime/train/fit.hpp"
#include "runtime/train/parameter_hash.hpp"

namespace cohort {
namespace {

// Cores of this rank's affinity mask, shared out among the ranks of the host whose masks overlap with it.
int cores_per_rank(World& world) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  std::vector<std::uint8_t> all(sizeof mine * static_cast<std::size_t>(world.size()));
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&mine);
  world.all().allgather(view_of(bytes, static_cast<std::int64_t>(sizeof mine)),
                        view_of(all.data(), static_cast<std::int64_t>(all.size())), "cores of all ranks");
  const std::string& host = world.ranks()[static_cast<std::size_t>(world.rank())].host;
  int sharers = 0;
  for (const RankInfo& rank : world.ranks()) {
    if (rank.host != host) continue;
    cpu_set_t other;
    cpu_set_t common;
    std::memcpy(&other, all.data() + sizeof other * static_cast<std::size_t>(rank.rank), sizeof other);
    CPU_AND(&common, &mine, &other);
    sharers += CPU_COUNT(&common) > 0 ? 1 : 0;
  }
  return std::max(1, CPU_COUNT(&mine) / std::max(1, sharers));
}

// Fills in what flags leave to circumstances. The same on every rank but for `threads`, of which a rank takes all its
// `cores`.
void settle_defaults(World& world, TrainConfig& config, int cores) {
  if (config.kv_store.empty()) config.kv_store = world.size() > 1 ? "dist_sync" : "local";
  if (config.input_scale == 0) config.input_scale = 1.0 / 255;
  if (config.global_batch == 0) config.global_batch = config.batch_size * world.size();
  if (config.update_on_kvstore < 0) config.update_on_kvstore = 1;
  if (config.threads == 0) config.threads = cores;
}

// As MXNet's start line has it: "Namespace(lr=0.05, ...)".
std::string namespace_text(const TrainConfig& config) {
  std::string line;
  visit_flags(config, [&](const FlagInfo& flag, const auto& value) {
    std::string name(flag.name);
    std::replace(name.begin(), name.end(), '-', '_');
    line += fmt::format("{}{}={}", line.empty() ? "" : ", ", name, value);
  });
  return fmt::format("Namespace({})", line);
}

LogStyle choose_style(const World& world, const TrainConfig& config) {
  if (config.log_style == "mxnet") return LogStyle::mxnet;
  if (config.log_style == "progress") return LogStyle::progress;
  if (config.log_style == "quiet") return LogStyle::quiet;
  // Under mpirun standard error looks like a terminal even where it goes into a file.
  return world.solo() && isatty(STDERR_FILENO) ? LogStyle::progress : LogStyle::mxnet;
}

void open_outputs(World& world, const TrainConfig& config) {
  agreed(world, "check of output files", [&] {
    if (!config.log_dir.empty()) {
      std::error_code error;
      std::filesystem::create_directories(config.log_dir, error);
      if (error) throw_usage("--log-dir {}: {}", config.log_dir, error.message());
      open_log_file(fmt::format("{}/rank{}.log", config.log_dir, world.rank()));
    }
    if (!config.model_prefix.empty() && world.rank() == 0) require_writable(config.model_prefix, "model-prefix");
    return true;
  });
}

DatasetPair open_data(World& world, const TrainConfig& config) {
  DatasetPair data = agreed(world, "reading the data", [&] {
    DatasetPair pair = config.data_dir.empty() ? make_digits() : open_idx_directory(config.data_dir);
    if (config.num_examples > pair.train->count())
      throw_usage("--num-examples {}: the data holds {}", config.num_examples, pair.train->count());
    if (config.num_examples > 0) pair.train = first_samples(std::move(pair.train), config.num_examples);
    return pair;
  });
  world.require_same("training data",
                     fmt::format("{} training samples\n{} validation samples\nsample shape {}\n", data.train->count(),
                                 data.validation->count(), to_string(data.train->sample_shape())));
  return data;
}

Symbol make_network(World& world, const TrainConfig& config, const Shape& sample_shape) {
  return agreed(world, "building the network", [&] {
    if (config.network.ends_with(".json")) return Symbol::from_json(read_text_file(config.network), config.network);
    ModelOptions options;
    options.num_classes = config.num_classes;
    options.image_shape = sample_shape;
    options.num_layers = config.num_layers;
    return build_model(config.network, options);
  });
}

Shape network_input(World& world, const TrainConfig& config, const Shape& sample_shape) {
  return agreed(world, "check of the image shape", [&] {
    Shape asked{parse_integers(config.image_shape, "image-shape")};
    if (asked != sample_shape)
      throw_usage("--image-shape {}: the data's samples are {}", config.image_shape, to_string(sample_shape));
    return asked;
  });
}

std::vector<std::unique_ptr<Metric>> make_metrics(const TrainConfig& config) {
  std::vector<std::unique_ptr<Metric>> metrics;
  metrics.push_back(make_metric("accuracy"));
  if (config.top_k > 1) metrics.push_back(make_metric("top_k_accuracy", config.top_k));
  std::size_t begin = 0;
  while (begin < config.loss.size()) {
    const std::size_t end = std::min(config.loss.find(',', begin), config.loss.size());
    metrics.push_back(make_metric(config.loss.substr(begin, end - begin)));
    begin = end + 1;
  }
  return metrics;
}

Optimizer make_optimizer(const TrainConfig& config, const Module& module, const LearningRatePlan& plan) {
  OptimizerOptions options;
  options.name = config.optimizer;
  options.learning_rate = static_cast<float>(config.lr);
  options.momentum = static_cast<float>(config.mom);
  options.weight_decay = static_cast<float>(config.wd);
  options.rescale_grad = 1.0f / static_cast<float>(config.global_batch);
  options.schedule = plan.schedule;
  options.lr_mult = module.multipliers("lr_mult");
  options.wd_mult = module.multipliers("wd_mult");
  return Optimizer(options);
}

// Rank 0 alone reads the checkpoint: its values win in any case, and other hosts may not have the files.
ParameterMap first_parameters(World& world, Context& context, const TrainConfig& config, const Module& module) {
  return agreed(world, "first values of the parameters", [&] {
    if (config.load_epoch < 0 || world.rank() != 0)
      return module.initial_parameters(config.initializer, config.network, static_cast<std::uint64_t>(config.seed));
    ParameterMap loaded = load_checkpoint(context, config.model_prefix, config.load_epoch, module.symbol());
    try {
      module.require_parameters(loaded);
    } catch (const Error& error) {
      throw_usage("{}: {}", params_path(config.model_prefix, config.load_epoch), error.message());
    }
    return loaded;
  });
}

std::string rate_change(const TrainConfig& config, const LearningRatePlan& plan) {
  if (config.load_epoch <= 0 || !plan.schedule) return {};
  const double rate = plan.schedule->rate(config.lr, 1);
  return rate == config.lr ? "" : fmt::format("Adjust learning rate to {:e} for epoch {}", rate, config.load_epoch);
}

std::unique_ptr<Sampler> make_sampler(World& world, const TrainConfig& config, const Dataset& train) {
  return agreed(world, "cutting the epoch into steps", [&] {
    SamplerOptions options;
    options.samples = train.count();
    options.global_batch = config.global_batch;
    options.ranks = world.size();
    options.rank = world.rank();
    options.seed = static_cast<std::uint64_t>(config.seed);
    options.tail = *tail_from_name(config.tail);
    return std::make_unique<Sampler>(options);
  });
}

// Weights and gradients of a network that no memory holds would be touched page by page until the system gives up.
void require_memory_for(const Module& module, const std::string& network) {
  const double bytes = 2 * sizeof(float) * static_cast<double>(module.parameter_count());
  const auto memory = static_cast<double>(host_memory_bytes());
  if (bytes <= memory) return;
  const auto& names = module.parameter_names();
  const auto smaller = [&](const std::string& a, const std::string& b) {
    return module.parameter_shape(a).count() < module.parameter_shape(b).count();
  };
  const std::string& name = *std::max_element(names.begin(), names.end(), smaller);
  const Shape& shape = module.parameter_shape(name);
  COHORT_FAIL(
      memory,
      "--network {}: parameters and their gradients take {:.1f} GB, this host has {:.1f} GB; the largest parameter, "
      "{} of shape {}, takes {} bytes",
      network, bytes / 1e9, memory / 1e9, name, to_string(shape),
      static_cast<std::uint64_t>(shape.count()) * sizeof(float));
}

// What is wrong with the network names it.
template <class Step>
auto of_network(const TrainConfig& config, const Step& step) {
  try {
    return step();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    throw_usage("--network {}: {}", config.network, error.message());
  }
}

std::unique_ptr<Module> make_module(World& world, Context& context, const TrainConfig& config,
                                    const DatasetPair& data) {
  const Shape input = network_input(world, config, data.train->sample_shape());
  const Symbol network = make_network(world, config, input);
  world.require_same("network", network.to_json());
  return agreed(world, "shapes of the network", [&] {
    std::unique_ptr<Module> module =
        of_network(config, [&] { return std::make_unique<Module>(context, network, input, make_metrics(config)); });
    require_memory_for(*module, config.network);
    if (module->output_classes() > 0)
      for (const auto* set : {&data.train, &data.validation}) require_labels_below(**set, module->output_classes());
    if (config.top_k > module->output_classes() && module->output_classes() > 0)
      throw_usage("--top-k {}: the network has {} outputs", config.top_k, module->output_classes());
    return module;
  });
}

void describe_start(const World& world, const TrainConfig& config, const FitParts& parts, RunDescription& run) {
  run.network = config.network;
  run.parameters = parts.module.parameter_count();
  run.data = parts.train.description();
  run.train_samples = parts.train.count();
  run.validation_samples = parts.validation.count();
  run.steps_per_epoch = parts.sampler.steps_per_epoch();
  run.global_batch = config.global_batch;
  run.kv_store = parts.store.type();
  run.weights_placement = parts.store.weights_placement();
  run.threads = config.threads;
  parts.progress.line(fmt::format("start with arguments {}", namespace_text(config)));
  if (config.data_dir.empty()) parts.progress.line("no --data-dir: training on the built-in digits");
  if (config.tail == "mxnet" && world.size() > 1)
    parts.progress.line(fmt::format("Resizing training data to {} batches per machine", run.steps_per_epoch));
  parts.progress.line(
      fmt::format("{} ({} parameters) on {} ({} samples), {} rank{} x {} thread{}, kv-store {}, weights {}, {} steps "
                  "per epoch of {} samples",
                  run.network, run.parameters, run.data, run.train_samples, world.size(), world.size() == 1 ? "" : "s",
                  config.threads, config.threads == 1 ? "" : "s", run.kv_store, run.weights_placement,
                  run.steps_per_epoch, run.global_batch));
}

void describe_end(const World& world, const TrainConfig& config, const FitParts& parts, const FitResult& result) {
  const double rate = result.seconds > 0 ? static_cast<double>(result.samples) / result.seconds : 0;
  std::string quality;
  for (const auto& [name, value] : result.validation) quality += fmt::format(", validation {} {:.4f}", name, value);
  parts.progress.line(
      fmt::format("Trained {} on {} with {} rank{}: {} steps, {} samples in {:.2f} s ({:.0f} samples/sec){}",
                  config.network, parts.train.description(), world.size(), world.size() == 1 ? "" : "s", result.steps,
                  result.samples, result.seconds, rate, quality));
  if (config.print_hash)
    print_output(fmt::format("hash {:016x} rank {}\n", hash_parameters(parts.module.parameters()), world.rank()));
}

// Runs what has been prepared, and says so.
void train(const FitParts& parts, const TrainConfig& config, const LoaderOptions& reading, int first_epoch) {
  RunDescription run;
  describe_start(parts.world, config, parts, run);
  parts.run_log.start(config, parts.world, run);
  if (config.load_epoch >= 0)
    parts.progress.line(fmt::format("Loaded model {}_{:04}.params", config.model_prefix, config.load_epoch));
  if (const std::string change = rate_change(config, parts.rate); !change.empty()) parts.progress.line(change);
  if (config.explain_lr && parts.world.rank() == 0)
    print_output(
        explain_learning_rate(config, parts.rate, parts.world.size(), config.global_batch, run.steps_per_epoch) + "\n");
  if (config.test_io == 1) {
    test_io(parts, config, reading);
    return;
  }
  const FitResult result = fit(parts, config, reading, first_epoch);
  describe_end(parts.world, config, parts, result);
  parts.run_log.end("done", result.steps, result.samples, result.seconds);
}

}  // namespace

void run_training_job(World& world, TrainConfig config) {
  world.require_same("flags", config_text(config, true));
  const int cores = cores_per_rank(world);
  const bool chosen = !config.kv_store.empty();
  settle_defaults(world, config, cores);
  if (config.print_config) {
    if (world.rank() == 0) print_output(config_text(config, false));
    return;
  }
  set_compute_threads(config.threads);
  open_outputs(world, config);

  Context context(cpu_backend());
  const DatasetPair data = open_data(world, config);
  const std::unique_ptr<Sampler> sampler = make_sampler(world, config, *data.train);
  const std::unique_ptr<Module> module = make_module(world, context, config, data);
  const int first_epoch = std::max(config.load_epoch, 0);
  const LearningRatePlan plan = agreed(
      world, "learning rate", [&] { return plan_learning_rate(config, sampler->steps_per_epoch(), first_epoch); });
  const ParameterMap values = first_parameters(world, context, config, *module);
  const std::unique_ptr<Faults> faults = agreed(world, "faults to inject", [&] {
    return std::make_unique<Faults>(config.inject, world.rank(), world.size(), static_cast<std::uint64_t>(config.seed));
  });
  const std::unique_ptr<RunLog> run_log = agreed(
      world, "run log", [&] { return std::make_unique<RunLog>(world.rank() == 0 ? config.run_log : std::string()); });
  const std::unique_ptr<IdDump> dump =
      agreed(world, "dump of sample ids", [&] { return std::make_unique<IdDump>(world, config.dump_ids); });

  StoreOptions store_options;
  store_options.servers_per_node = config.num_servers;
  const std::unique_ptr<KVStore> store = make_store(world, context, config.kv_store, store_options);
  try {
    agreed(world, "the optimizer", [&] { return make_optimizer(config, *module, plan).updates(); });
    module->init_optimizer(*store, make_optimizer(config, *module, plan), config.update_on_kvstore == 1, values);
    agreed(world, "binding the network", [&] {
      return of_network(config, [&] {
        module->bind(sampler->local_batches(),
                     validation_sampler(*data.validation, world, config.batch_size).local_batches());
        return true;
      });
    });
    if (!chosen && world.size() > 1 && world.rank() == 0)
      log_info("INFO:root:{} ranks and no --kv-store: training with {}", world.size(), config.kv_store);
    Progress progress({choose_style(world, config), config.disp_batches, world.size(), world.rank() == 0},
                      module->metric_names());
    LoaderOptions reading;
    reading.scale = static_cast<float>(config.input_scale);
    reading.read_ahead = config.threads < cores;
    train({world, *store, *module, *data.train, *data.validation, *sampler, plan, *faults, *run_log, *dump, progress},
          config, reading, first_epoch);
  } catch (const Error& error) {
    // Found by all ranks alike: they leave in good order. Other errors end the job where it stands.
    if (found_by_all(error)) store->close();
    throw;
  }
  store->close();
}

}  // namespace cohort
