// One training job from flags to result: wires data, network, store and loop together.
#pragma once

#include "collectives/world.hpp"
#include "runtime/config.hpp"

namespace cohort {

// Collective. What can be wrong with flags, files and agreement is found before the first step and thrown as
// Error(usage) on every rank alike; later failures are of other kinds and the caller's to end the job with.
void run_training_job(World& world, TrainConfig config);

}  // namespace cohort
