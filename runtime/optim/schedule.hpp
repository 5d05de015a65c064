// Learning-rate schedules: pure functions of the update number, so that resuming needs no state.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace cohort {

// Linear warm-up from `begin_rate` to the base rate over the first `updates` updates.
struct WarmUp {
  std::uint64_t updates = 0;
  double begin_rate = 0;
};

class Schedule {
 public:
  virtual ~Schedule() = default;
  // The rate of update number `update` (the first is 1) for a base rate.
  virtual double rate(double base, std::uint64_t update) const = 0;
};

// Update numbered s still uses the old rate (MXNet changes strictly after a boundary).
std::shared_ptr<const Schedule> factor_schedule(std::uint64_t step, double factor, double stop = 1e-8,
                                                WarmUp warm_up = {});
std::shared_ptr<const Schedule> multi_factor_schedule(std::vector<std::uint64_t> steps, double factor,
                                                      WarmUp warm_up = {});
std::shared_ptr<const Schedule> poly_schedule(std::uint64_t total, double power = 2, double final_rate = 0,
                                              WarmUp warm_up = {});
std::shared_ptr<const Schedule> cosine_schedule(std::uint64_t total, double final_rate = 0, WarmUp warm_up = {});

}  // namespace cohort
