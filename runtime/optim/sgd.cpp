#include "kernels/base/error.hpp"
#include "runtime/optim/rules.hpp"

namespace cohort {

void check_sgd(const OptimizerOptions& options) {
  if (!(options.momentum >= 0 && options.momentum < 1))
    throw_usage("momentum {}: must be at least 0 and below 1", options.momentum);
}

void fill_sgd(const OptimizerOptions& options, UpdateStep& step) { step.momentum = options.momentum; }

}  // namespace cohort
