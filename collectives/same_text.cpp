#include "collectives/same_text.hpp"

#include <algorithm>
#include <vector>

namespace cohort {
namespace {

// FNV-1a, with the length folded in.
std::uint64_t fingerprint(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ull ^ text.size();
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}

std::string_view next_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

// The line around the place where it begins to differ.
std::string excerpt(std::string_view line, std::size_t difference) {
  constexpr std::size_t longest = 160;
  constexpr std::size_t before = 60;
  if (line.size() <= longest) return std::string(line);
  const std::size_t begin = difference > before ? difference - before : 0;
  const std::string_view part = line.substr(std::min(begin, line.size()), longest);
  return fmt::format("{}{}{}", begin > 0 ? "..." : "", part, begin + part.size() < line.size() ? "..." : "");
}

}  // namespace

std::optional<Disagreement> find_disagreement(Communicator& all, const std::string& text) {
  const auto mine = static_cast<std::int64_t>(fingerprint(text));
  std::vector<std::int64_t> fingerprints(static_cast<std::size_t>(all.size()));
  all.allgather(view_of(&mine, 1), view_of(fingerprints.data(), all.size()), "a comparison over all ranks");
  const auto differs = [&](std::int64_t other) { return other != fingerprints.front(); };
  const auto place = std::find_if(fingerprints.begin(), fingerprints.end(), differs);
  if (place == fingerprints.end()) return std::nullopt;
  Disagreement found;
  found.rank = static_cast<int>(place - fingerprints.begin());
  found.first = broadcast_text(all, text, 0, "a comparison over all ranks");
  found.other = broadcast_text(all, text, found.rank, "a comparison over all ranks");
  return found;
}

std::string explain(const Disagreement& disagreement, std::string_view first_name, std::string_view other_name) {
  std::string_view first_rest = disagreement.first;
  std::string_view other_rest = disagreement.other;
  std::string_view first;
  std::string_view other;
  do {
    first = next_line(first_rest);
    other = next_line(other_rest);
  } while (first == other && !(first_rest.empty() && other_rest.empty()));
  const auto ends = std::mismatch(first.begin(), first.end(), other.begin(), other.end());
  const auto difference = static_cast<std::size_t>(ends.first - first.begin());
  return fmt::format("{} has \"{}\", {} has \"{}\"", first_name, excerpt(first, difference), other_name,
                     excerpt(other, difference));
}

}  // namespace cohort
