#include "collectives/peer_state.hpp"

#include <fmt/format.h>

#include <fstream>

namespace cohort {
namespace {

// The state letter follows the command's name, which stands in parentheses and may hold anything.
bool stopped_or_gone(long pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  if (!std::getline(file, text)) return true;
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return false;
  const char state = text[name_end + 2];
  return state == 'T' || state == 't' || state == 'Z' || state == 'X';
}

}  // namespace

std::string stopped_peers(const World& world) {
  if (!std::ifstream("/proc/self/stat")) return {};
  const std::string& host = world.ranks()[static_cast<std::size_t>(world.rank())].host;
  std::string found;
  for (const RankInfo& rank : world.ranks())
    if (rank.rank != world.rank() && rank.host == host && stopped_or_gone(rank.pid))
      found += (found.empty() ? "; stopped on this host: " : ", ") + world.describe(rank.rank);
  return found;
}

}  // namespace cohort
