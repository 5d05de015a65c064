// Which build this is.
#pragma once

#include <string>

namespace cohort {

// "cohort 0.1.0 (g++ 12.2.0)": version and compiler. Ranks of one job must agree on it.
std::string version_text();

}  // namespace cohort
