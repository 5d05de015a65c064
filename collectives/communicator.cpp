#include "collectives/communicator.hpp"

namespace cohort {

std::string broadcast_text(Communicator& group, const std::string& text, int root, std::string_view what) {
  std::int64_t length = static_cast<std::int64_t>(text.size());
  group.broadcast(view_of(&length, 1), root, what);
  std::string result = group.rank() == root ? text : std::string(static_cast<std::size_t>(length), '\0');
  group.broadcast(view_of(reinterpret_cast<std::uint8_t*>(result.data()), length), root, what);
  return result;
}

}  // namespace cohort
