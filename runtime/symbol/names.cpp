#include <algorithm>
#include <cctype>

#include "runtime/symbol/symbol.hpp"

namespace cohort {

std::string NameCounter::name_for(std::string_view hint, const std::string& given) {
  if (!given.empty()) return given;
  std::string lower(hint);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const int number = counts_[lower]++;
  return lower + std::to_string(number);
}

}  // namespace cohort
