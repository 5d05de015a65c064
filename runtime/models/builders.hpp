// The builders that table.cpp collects; one file per network.
#pragma once

#include "runtime/models/models.hpp"

namespace cohort::models {

Symbol lenet(const ModelOptions& options);
Symbol mlp(const ModelOptions& options);

}  // namespace cohort::models
