#include "collectives/agreed_step.hpp"

namespace cohort {

bool found_by_all(const Error& error) {
  return error.kind() == ErrorKind::usage || dynamic_cast<const AgreedError*>(&error) != nullptr;
}

StepFailure failure_of(const Error& error) {
  if (error.kind() == ErrorKind::io) return {ErrorKind::usage, error.message()};
  return {error.kind(), error.message() + error.details()};
}

void require_success(World& world, const std::optional<StepFailure>& failure, std::string_view what) {
  std::int32_t first = failure ? world.rank() : world.size();
  std::int32_t failed = failure ? 1 : 0;
  world.all().allreduce(view_of(&first, 1), ReduceOp::min, what);
  if (first == world.size()) return;
  world.all().allreduce(view_of(&failed, 1), ReduceOp::sum, what);
  auto number = static_cast<std::int32_t>(failure ? failure->kind : ErrorKind::check);
  world.all().broadcast(view_of(&number, 1), first, what);
  std::string text = broadcast_text(world.all(), failure ? failure->text : std::string(), first, what);
  const auto kind = static_cast<ErrorKind>(number);
  if (kind != ErrorKind::usage) text = fmt::format("{}: {}", what, text);
  throw AgreedError(kind, failed == world.size() ? text : fmt::format("{}: {}", world.describe(first), text));
}

}  // namespace cohort
