// Operator parameters: their schema, and their values parsed from the text that symbols and files carry.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/base/shape.hpp"

namespace cohort {

// `ignored` ones are accepted for compatibility and never read (workspace sizes, tuning hints of other libraries).
enum class ParameterType { flag, integer, real, text, tuple, ignored };

struct ParameterSpec {
  std::string_view name;
  ParameterType type = ParameterType::text;
  const char* default_text = nullptr;  // null: required; "None": absent unless given
  std::span<const std::string_view> choices = {};
  std::int64_t minimum = std::numeric_limits<std::int64_t>::min();  // of an integer or of each entry of a tuple
};

// Typed values of one operator's schema. Copies and moves. Asking for a name or type that the schema lacks is a check
// error.
class Parameters {
 public:
  using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, Shape>;

  // False for a value of None.
  bool has(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  float real(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const Shape& tuple(std::string_view name) const;  // extents may be negative: it is a list of numbers

 private:
  friend Parameters parse_parameters(std::string_view, std::span<const ParameterSpec>,
                                     const std::map<std::string, std::string>&);
  const Value& value(std::string_view name) const;
  template <class T>
  const T& as(std::string_view name) const;

  std::span<const ParameterSpec> schema_;
  std::vector<Value> values_;  // in the order of the schema
};

// Keys of the form `__key__` are user attributes and skipped. Throws Error(usage) that begins with `owner`: a required
// parameter is missing, a name is unknown (all are listed), or a text does not parse.
Parameters parse_parameters(std::string_view owner, std::span<const ParameterSpec> schema,
                            const std::map<std::string, std::string>& attributes);

bool is_user_attribute(std::string_view key);

// "(3, 3)", "[3,3]", "(3L,)", "()", "3". Throws Error(usage) naming `what`.
Shape parse_tuple(std::string_view text, std::string_view what);

}  // namespace cohort
