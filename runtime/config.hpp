// Everything a training run is told: one plain struct that apps fill and everything else reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

// Whether a flag must have one value on all ranks, or belongs to its rank (where it writes, how it shows things).
enum class Agreement { all_ranks, per_rank };

struct TrainConfig {
  // model
  std::string preset = "mnist";
  std::string network = "mlp";
  int num_layers = 0;
  int num_classes = 10;
  std::string image_shape = "1,28,28";
  std::string initializer = "default";
  std::string dtype = "float32";
  // data
  std::string data_dir;
  std::int64_t num_examples = 0;  // 0: what the data holds
  double input_scale = 0;         // 0: the preset's
  int test_io = 0;
  std::int64_t batch_size = 64;   // per rank, over all its devices
  std::int64_t global_batch = 0;  // over all ranks, instead of batch_size
  std::string tail = "exact";
  std::int64_t seed = 0;
  // optimization
  std::string optimizer = "sgd";
  double lr = 0.05;
  double lr_factor = 0.1;
  std::string lr_step_epochs = "10";
  std::string lr_schedule;  // empty: as lr_step_epochs says
  double warmup_epochs = 0;
  double mom = 0.9;
  double wd = 0.0001;
  int num_epochs = 20;
  std::int64_t max_steps = 0;  // 0: no limit
  double max_seconds = 0;      // 0: no limit
  // store and ranks
  std::string kv_store;        // empty: local for one rank, dist_sync for several
  int update_on_kvstore = -1;  // -1: by type
  int num_servers = -1;        // -1: every rank
  std::string gpus;
  std::string gc_type = "none";
  int threads = 0;  // 0: cores this rank may use / ranks sharing them
  std::string ranks_per_node;
  bool allow_singleton = false;
  double stall_abort = 300;  // seconds
  // model files
  std::string model_prefix;
  int save_period = 1;
  int load_epoch = -1;  // -1: none
  // output
  int disp_batches = 100;
  int top_k = 0;
  std::string loss;
  int monitor = 0;
  std::string log_style;  // empty: mxnet under a launcher or into a file, else progress
  std::string log_dir;
  std::string run_log;
  std::string dump_ids;
  bool print_hash = false;
  bool print_config = false;
  bool explain_lr = false;
  std::string inject;
};

// One flag: its name without dashes, what it means, and whether ranks must agree.
struct FlagInfo {
  std::string_view name;
  std::string_view help;
  Agreement agreement = Agreement::all_ranks;
};

// The table of flags: calls visit(FlagInfo, member) for each, in the order of the help text. `bool` members are flags
// without a value. Options, text form and agreement all read this table.
template <class Config, class Visit>
void visit_flags(Config& c, Visit&& visit);

// Sets the defaults of a preset. Throws Error(usage) listing the presets.
TrainConfig preset_defaults(std::string_view preset);
std::span<const std::string_view> preset_names();

// Checks every value that needs no data, model or world. Throws Error(usage) with flag, value and what is allowed.
void validate(const TrainConfig& config);

// "name = value" lines of every flag, or only of those that all ranks must agree on.
std::string config_text(const TrainConfig& config, bool agreed_only);

// Of any flag that names an epoch: with as many steps each as there can be samples, updates are still counted.
inline constexpr std::int64_t most_epochs = 1'000'000'000;

// "1,28,28" or "1, 28, 28".
std::vector<std::int64_t> parse_integers(std::string_view text, std::string_view flag);

}  // namespace cohort

#include "runtime/config_flags.hpp"
