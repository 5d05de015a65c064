// The table of flags behind visit_flags; included by config.hpp alone.
#pragma once

#include <utility>

#include "runtime/config.hpp"

namespace cohort {

template <class Config, class Visit>
void visit_flags(Config& c, Visit&& visit) {
  constexpr Agreement mine = Agreement::per_rank;
  visit(FlagInfo{"preset", "set of defaults: mnist"}, c.preset);
  visit(FlagInfo{"network", "a built-in network, or a symbol file ending in .json"}, c.network);
  visit(FlagInfo{"num-layers", "depth, for families of networks that need one"}, c.num_layers);
  visit(FlagInfo{"num-classes", "number of classes"}, c.num_classes);
  visit(FlagInfo{"image-shape", "channels,height,width of the input"}, c.image_shape);
  visit(FlagInfo{"initializer", "scheme for initial weights"}, c.initializer);
  visit(FlagInfo{"dtype", "float32"}, c.dtype);

  visit(FlagInfo{"data-dir", "directory with the preset's standard files (mnist: idx files, also .gz); none: digits"},
        c.data_dir);
  visit(FlagInfo{"num-examples", "use only the first N training samples (0: all)"}, c.num_examples);
  visit(FlagInfo{"input-scale", "factor applied to pixels (0: the preset's, mnist 1/255)"}, c.input_scale);
  visit(FlagInfo{"test-io", "1: read the data for one epoch, train nothing"}, c.test_io);
  visit(FlagInfo{"batch-size", "samples per step and rank"}, c.batch_size);
  visit(FlagInfo{"global-batch", "samples per step over all ranks, instead of --batch-size"}, c.global_batch);
  visit(FlagInfo{"tail", "last, short step of an epoch: exact, pad, discard, mxnet, error"}, c.tail);
  visit(FlagInfo{"seed", "initial weights and sample order derive from it"}, c.seed);

  visit(FlagInfo{"optimizer", "update rule"}, c.optimizer);
  visit(FlagInfo{"lr", "base learning rate; not scaled by the number of ranks"}, c.lr);
  visit(FlagInfo{"lr-factor", "multiplier at each step epoch; >= 1 disables the schedule"}, c.lr_factor);
  visit(FlagInfo{"lr-step-epochs", "epochs at which the rate changes, as 10,15; or powP for polynomial decay"},
        c.lr_step_epochs);
  visit(FlagInfo{"lr-schedule", "factor, multifactor, poly or cosine; none: as --lr-step-epochs says"}, c.lr_schedule);
  visit(FlagInfo{"warmup-epochs", "epochs of linear warm-up from 0"}, c.warmup_epochs);
  visit(FlagInfo{"mom", "momentum"}, c.mom);
  visit(FlagInfo{"wd", "weight decay"}, c.wd);
  visit(FlagInfo{"num-epochs", "last epoch (exclusive), counted from 0 also when resuming"}, c.num_epochs);
  visit(FlagInfo{"max-steps", "stop after this many steps, inside an epoch too (0: no limit)"}, c.max_steps);
  visit(FlagInfo{"max-seconds", "stop after this much training time, at the same step on every rank (0: no limit)"},
        c.max_seconds);

  visit(FlagInfo{"kv-store", "store type; none: local for one rank, dist_sync for several"}, c.kv_store);
  visit(FlagInfo{"update-on-kvstore", "1: the store runs the optimizer, 0: every rank does (-1: by type)"},
        c.update_on_kvstore);
  visit(FlagInfo{"num-servers", "shard owners per node (-1: every rank)"}, c.num_servers);
  visit(FlagInfo{"gpus", "device ids; none: CPU"}, c.gpus);
  visit(FlagInfo{"gc-type", "gradient compression: none"}, c.gc_type);
  visit(FlagInfo{"threads", "compute threads per rank (0: cores this rank may use / ranks sharing them)", mine},
        c.threads);
  visit(FlagInfo{"ranks-per-node", "pretend nodes: 2 makes nodes of 2 ranks, 3,1 one of 3 and one of 1"},
        c.ranks_per_node);
  visit(FlagInfo{"allow-singleton", "run alone although the batch system promised more tasks"}, c.allow_singleton);
  visit(FlagInfo{"stall-abort", "longest wait for another rank, in seconds"}, c.stall_abort);

  visit(FlagInfo{"model-prefix", "write PREFIX-symbol.json and PREFIX-%04d.params"}, c.model_prefix);
  visit(FlagInfo{"save-period", "epochs between checkpoints"}, c.save_period);
  visit(FlagInfo{"load-epoch", "resume from PREFIX-%04d.params (-1: start anew)"}, c.load_epoch);

  visit(FlagInfo{"disp-batches", "steps between progress lines"}, c.disp_batches);
  visit(FlagInfo{"top-k", "also report top-k accuracy (k > 1; 0: off)"}, c.top_k);
  visit(FlagInfo{"loss", "metrics to add: ce, nll"}, c.loss);
  visit(FlagInfo{"monitor", "print statistics of parameters and outputs every that many steps (0: never)"}, c.monitor);
  visit(FlagInfo{"log-style", "mxnet, progress or quiet; none: mxnet under a launcher, progress on a terminal", mine},
        c.log_style);
  visit(FlagInfo{"log-dir", "each rank's own messages in a file there", mine}, c.log_dir);
  visit(FlagInfo{"run-log", "one JSON object per line: start, steps, epochs, end (docs/run-log.md)"}, c.run_log);
  visit(FlagInfo{"dump-ids", "write the sample ids of every step and rank to this file"}, c.dump_ids);
  visit(FlagInfo{"print-hash", "print a hash of all parameters per rank at the end"}, c.print_hash);
  visit(FlagInfo{"print-config", "print everything in force after defaults, then stop"}, c.print_config);
  visit(FlagInfo{"explain-lr", "print the formula of the step with this run's numbers"}, c.explain_lr);
  visit(FlagInfo{"inject", "faults for tests: delay@rank1:30ms[,phase=data|compute][,p=0.05], delay@*:0-20ms"},
        c.inject);
}

}  // namespace cohort
