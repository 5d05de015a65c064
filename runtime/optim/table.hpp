// Looking up rows of this folder's tables by name or alias.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/base/error.hpp"

namespace cohort {

// Calls visit(part) for the parts of a list separated by commas.
template <class Visit>
void for_each_part(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    visit(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
}

// Rows have `name` and `aliases` (separated by commas). Throws Error(usage) with all names for an unknown one.
template <class Row>
const Row& find_row(std::span<const Row> table, std::string_view what, std::string_view name) {
  std::string known;
  for (const Row& row : table) {
    if (row.name == name) return row;
    bool alias = false;
    for_each_part(row.aliases, [&](std::string_view other) { alias = alias || other == name; });
    if (alias) return row;
    known += known.empty() ? "" : ", ";
    known += row.name;
    if (!row.aliases.empty()) known += fmt::format(" ({})", row.aliases);
  }
  throw_usage("unknown {} '{}'; there are: {}", what, name, known);
}

}  // namespace cohort
