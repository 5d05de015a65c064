// The text that names an initializer and its arguments, as MXNet writes it into a variable's `__init__` attribute.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace cohort {

// Named arguments of one initializer. What is taken is removed, so that what is left at the end is a mistake.
class InitializerArguments {
 public:
  InitializerArguments() = default;
  explicit InitializerArguments(std::map<std::string, std::string> values) : values_(std::move(values)) {}

  std::string take(const std::string& name, std::string otherwise);
  // Throws Error(usage) for a text that is no number.
  double take_number(const std::string& name, double otherwise);
  bool has(const std::string& name) const { return values_.count(name) != 0; }
  // Throws Error(usage) naming an argument that nobody has taken.
  void check_empty(std::string_view initializer) const;

 private:
  std::map<std::string, std::string> values_;
};

struct InitializerText {
  std::string name;
  InitializerArguments arguments;
};

// Reads `["xavier", {"rnd_type": "gaussian", "magnitude": 2}]` (argument values are words and numbers), or a name
// alone. Throws Error(usage) with the text.
InitializerText parse_initializer(const std::string& text);

}  // namespace cohort
