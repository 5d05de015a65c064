// The trainer's command line.
#pragma once

#include <string>

#include "runtime/config.hpp"

namespace cohort {

struct ParsedOptions {
  TrainConfig config;
  std::string message;  // help text, or one line that says what is wrong; empty: go on
  bool failed = false;  // the message is an error (exit code 2)
};

// A pure function of its arguments, so that every rank comes to the same result. The program's name chooses the preset
// (train_mnist). Never throws.
ParsedOptions parse_options(int argc, const char* const* argv);

}  // namespace cohort
