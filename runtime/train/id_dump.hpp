// --dump-ids: which samples every rank really trained on, step by step, in one file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/world.hpp"
#include "kernels/base/files.hpp"
#include "runtime/data/loader.hpp"

namespace cohort {

// Rank 0 writes a line per step and rank: "step rank id id ...". An empty path makes it do nothing.
class IdDump {
 public:
  // Throws Error(usage) on rank 0 when the file cannot be written.
  IdDump(World& world, const std::string& path);

  // Collective. `step` counts from 0 over the run.
  void step(std::int64_t step, const Batch& batch);

 private:
  World& world_;
  std::string path_;
  FilePointer file_;
};

}  // namespace cohort
