// Faults that tests inject: delays of chosen ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cohort {

enum class FaultPhase { data, compute };

// Specs separated by ';': delay@rank1:30ms, delay@*:0-20ms, with ,phase=data|compute (default compute) and ,p=0.05 (the
// share of steps). What a rank sleeps at a step is a function of seed, rank and step.
class Faults {
 public:
  // Of `rank` among `ranks`. Throws Error(usage) naming the spec and the form it should have, or the rank there is not.
  Faults(const std::string& specs, int rank, int ranks, std::uint64_t seed);

  // Sleeps what the specs ask of this rank in this phase of this step.
  void delay(FaultPhase phase, std::int64_t step) const;

 private:
  struct Delay {
    FaultPhase phase = FaultPhase::compute;
    double least_ms = 0;
    double most_ms = 0;
    double probability = 1;
  };

  std::vector<Delay> delays_;
  std::uint64_t seed_;
  int rank_;
};

}  // namespace cohort
