// The one place where the trainer reads its environment.
#pragma once

#include <string>
#include <vector>

namespace cohort {

struct LaunchEnvironment {
  bool launched = false;                         // a launcher's variable is set: MPI must be started
  int promised_tasks = 0;                        // what the launcher or batch system says, 0 if nothing
  std::string promised_by;                       // the variable that said so
  std::vector<std::string> scratch_directories;  // for node-shared memory that does not fit elsewhere
};

LaunchEnvironment read_environment();

}  // namespace cohort
