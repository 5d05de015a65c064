// Numbers in text.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace cohort {

// The decimal number that all of `text` is, with or without a sign; nothing for any other text, and for a number that
// the type does not hold.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace cohort
