#include "runtime/optim/rules.hpp"

namespace cohort {

// The rule reads the rescale and nothing else, so any options will do.
void check_test_rule(const OptimizerOptions&) {}
void fill_test_rule(const OptimizerOptions&, UpdateStep&) {}

}  // namespace cohort
