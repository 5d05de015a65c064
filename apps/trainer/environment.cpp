#include "apps/trainer/environment.hpp"

#include <array>
#include <cstdlib>

#include "kernels/base/numbers.hpp"

namespace cohort {

LaunchEnvironment read_environment() {
  LaunchEnvironment environment;
  constexpr std::array task_counts{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
  constexpr std::array launcher_marks{"PMI_RANK", "PMIX_RANK", "MPI_LOCALRANKID", "SLURM_PROCID"};
  for (const char* name : task_counts) {
    const char* value = std::getenv(name);
    if (!value) continue;
    environment.launched = true;
    const int tasks = parse_number<int>(value).value_or(0);
    if (tasks > environment.promised_tasks) {
      environment.promised_tasks = tasks;
      environment.promised_by = name;
    }
  }
  for (const char* name : launcher_marks)
    if (std::getenv(name)) environment.launched = true;
  if (const char* scratch = std::getenv("TMPDIR")) environment.scratch_directories.emplace_back(scratch);
  environment.scratch_directories.emplace_back("/var/tmp");
  return environment;
}

}  // namespace cohort
