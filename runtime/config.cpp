#include "runtime/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <optional>

#include "kernels/base/error.hpp"
#include "kernels/base/numbers.hpp"

namespace cohort {
namespace {

constexpr std::array<std::string_view, 1> presets{"mnist"};
constexpr std::int64_t most_ranks = 1 << 20;

void require_range(std::string_view flag, double value, bool good, std::string_view allowed) {
  if (!std::isfinite(value)) throw_usage("--{} {}: must be a finite number", flag, value);
  if (!good) throw_usage("--{} {}: must be {}", flag, value, allowed);
}

void require_choice(std::string_view flag, std::string_view value, std::span<const std::string_view> choices) {
  for (const std::string_view choice : choices)
    if (choice == value) return;
  throw_usage("--{} {}: unknown; choose one of {}", flag, value, fmt::join(choices, ", "));
}

void validate_names(const TrainConfig& c) {
  constexpr std::array<std::string_view, 5> tails{"exact", "pad", "discard", "mxnet", "error"};
  constexpr std::array<std::string_view, 5> schedules{"", "factor", "multifactor", "poly", "cosine"};
  constexpr std::array<std::string_view, 4> styles{"", "mxnet", "progress", "quiet"};
  require_choice("tail", c.tail, tails);
  require_choice("lr-schedule", c.lr_schedule, schedules);
  require_choice("log-style", c.log_style, styles);
  require_choice("dtype", c.dtype, std::array<std::string_view, 1>{"float32"});
  require_choice("gc-type", c.gc_type, std::array<std::string_view, 1>{"none"});
  if (!c.gpus.empty()) throw_usage("--gpus {}: this build has no GPU support", c.gpus);
  if (c.load_epoch >= 0 && c.model_prefix.empty()) throw_usage("--load-epoch {}: needs --model-prefix", c.load_epoch);
  for (const std::int64_t size : parse_integers(c.ranks_per_node, "ranks-per-node"))
    if (size < 1 || size > most_ranks)
      throw_usage("--ranks-per-node {}: a node has 1 to {} ranks", c.ranks_per_node, most_ranks);
}

}  // namespace

std::span<const std::string_view> preset_names() { return presets; }

TrainConfig preset_defaults(std::string_view preset) {
  require_choice("preset", preset, presets);
  TrainConfig config;
  config.preset = preset;
  return config;
}

void validate(const TrainConfig& c) {
  const auto batch = static_cast<double>(c.batch_size);
  constexpr std::int64_t most_samples = 1 << 30;
  require_range("batch-size", batch, c.batch_size >= 1 && c.batch_size <= most_samples, "1 to 2^30");
  require_range("global-batch", static_cast<double>(c.global_batch),
                c.global_batch >= 0 && c.global_batch <= most_samples, "0 to 2^30");
  require_range("num-examples", static_cast<double>(c.num_examples), c.num_examples >= 0, "at least 0");
  require_range("num-classes", c.num_classes, c.num_classes >= 1 && c.num_classes <= 10'000'000, "1 to 10,000,000");
  require_range("num-epochs", c.num_epochs, c.num_epochs >= 0, "at least 0");
  require_range("input-scale", c.input_scale, c.input_scale >= 0, "at least 0");
  require_range("test-io", c.test_io, c.test_io == 0 || c.test_io == 1, "0 or 1");
  require_range("seed", static_cast<double>(c.seed), c.seed >= 0, "at least 0");
  require_range("lr", c.lr, c.lr > 0, "more than 0");
  require_range("lr-factor", c.lr_factor, c.lr_factor > 0, "more than 0");
  require_range("warmup-epochs", c.warmup_epochs,
                c.warmup_epochs >= 0 && c.warmup_epochs <= static_cast<double>(most_epochs), "0 to 1e9");
  require_range("mom", c.mom, c.mom >= 0 && c.mom < 1, "at least 0 and less than 1");
  require_range("wd", c.wd, c.wd >= 0, "at least 0");
  require_range("max-steps", static_cast<double>(c.max_steps), c.max_steps >= 0, "at least 0");
  require_range("max-seconds", c.max_seconds, c.max_seconds >= 0, "at least 0");
  require_range("update-on-kvstore", c.update_on_kvstore, c.update_on_kvstore >= -1 && c.update_on_kvstore <= 1,
                "0, 1 or -1");
  require_range("num-servers", c.num_servers,
                c.num_servers == -1 || (c.num_servers >= 1 && c.num_servers <= most_ranks), "at least 1, or -1");
  require_range("threads", c.threads, c.threads >= 0 && c.threads <= 1024, "0 to 1024");
  require_range("stall-abort", c.stall_abort, c.stall_abort >= 0.001 && c.stall_abort <= 1e6, "0.001 to 1e6");
  require_range("save-period", c.save_period, c.save_period >= 1, "at least 1");
  require_range("load-epoch", c.load_epoch, c.load_epoch >= -1, "at least 0, or -1");
  require_range("disp-batches", c.disp_batches, c.disp_batches >= 1, "at least 1");
  require_range("top-k", c.top_k, c.top_k == 0 || c.top_k > 1, "0 or more than 1");
  require_range("monitor", c.monitor, c.monitor >= 0, "at least 0");
  if (parse_integers(c.image_shape, "image-shape").size() != 3)
    throw_usage("--image-shape {}: must be channels,height,width", c.image_shape);
  validate_names(c);
}

std::string config_text(const TrainConfig& config, bool agreed_only) {
  std::string text;
  visit_flags(config, [&](const FlagInfo& flag, const auto& value) {
    if (agreed_only && flag.agreement == Agreement::per_rank) return;
    text += fmt::format("--{} = {}\n", flag.name, value);
  });
  return text;
}

std::vector<std::int64_t> parse_integers(std::string_view text, std::string_view flag) {
  std::vector<std::int64_t> values;
  const std::string_view whole = text;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    const std::optional<std::int64_t> value = parse_number<std::int64_t>(item);
    if (!value) throw_usage("--{} {}: '{}' is no whole number", flag, whole, item);
    values.push_back(*value);
    if (comma + 1 == text.size()) throw_usage("--{} {}: ends with a comma", flag, whole);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return values;
}

}  // namespace cohort
