#include "collectives/agreed_step.hpp"

namespace cohort {

void require_success(World& world, const std::string& failure, std::string_view what) {
  std::int32_t first = failure.empty() ? world.size() : world.rank();
  std::int32_t failed = failure.empty() ? 0 : 1;
  world.all().allreduce(view_of(&first, 1), ReduceOp::min, what);
  if (first == world.size()) return;
  world.all().allreduce(view_of(&failed, 1), ReduceOp::sum, what);
  const std::string text = broadcast_text(world.all(), failure, first, what);
  if (failed == world.size()) throw Error(ErrorKind::usage, text);
  throw_usage("{}: {}", world.describe(first), text);
}

}  // namespace cohort
