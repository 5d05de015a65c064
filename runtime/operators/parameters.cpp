#include "runtime/operators/parameters.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/base/error.hpp"
#include "kernels/base/numbers.hpp"

namespace cohort {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<bool> boolean(std::string_view text) {
  if (text == "True" || text == "true" || text == "1") return true;
  if (text == "False" || text == "false" || text == "0") return false;
  return std::nullopt;
}

// MXNet keeps whole numbers in 32 bits; arithmetic with a few of them stays within 64.
constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

void check_size(std::int64_t value, std::string_view what) {
  if (value > most || value < -most) throw_usage("{} has {}, but numbers end at {}", what, value, most);
}

void check_minimum(const ParameterSpec& spec, std::int64_t value, std::string_view what) {
  if (value < spec.minimum) throw_usage("{} is {}, but at least {} is needed", what, value, spec.minimum);
}

Parameters::Value parse_text(const ParameterSpec& spec, const std::string& what, std::string_view text) {
  if (!spec.choices.empty() && std::ranges::find(spec.choices, text) == spec.choices.end())
    throw_usage("{} is '{}', but one of {} is needed", what, text, fmt::join(spec.choices, ", "));
  return std::string(text);
}

Parameters::Value parse_value(const ParameterSpec& spec, const std::string& what, std::string_view raw) {
  const std::string_view text = trimmed(raw);
  if (text == "None" && spec.default_text != nullptr) {
    if (std::string_view(spec.default_text) == "None") return std::monostate{};
  }
  switch (spec.type) {
    case ParameterType::ignored: return std::monostate{};
    case ParameterType::flag:
      if (const auto value = boolean(text)) return *value;
      throw_usage("{} is '{}', but True or False is needed", what, text);
    case ParameterType::integer:
      if (const auto value = parse_number<std::int64_t>(text)) {
        check_size(*value, what);
        check_minimum(spec, *value, what);
        return *value;
      }
      throw_usage("{} is '{}', but a whole number is needed", what, text);
    case ParameterType::real:
      if (const auto value = parse_number<double>(text); value && std::isfinite(*value)) return *value;
      throw_usage("{} is '{}', but a finite number is needed", what, text);
    case ParameterType::tuple: {
      Shape value = parse_tuple(text, what);
      for (const std::int64_t entry : value) check_minimum(spec, entry, what);
      return value;
    }
    case ParameterType::text: break;
  }
  return parse_text(spec, what, text);
}

}  // namespace

bool is_user_attribute(std::string_view key) { return key.size() > 4 && key.starts_with("__") && key.ends_with("__"); }

Shape parse_tuple(std::string_view text, std::string_view what) {
  std::string_view rest = trimmed(text);
  const bool round = rest.starts_with('(') && rest.ends_with(')');
  const bool square = rest.starts_with('[') && rest.ends_with(']');
  if (round || square) rest = trimmed(rest.substr(1, rest.size() - 2));
  Shape result;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string_view entry = trimmed(rest.substr(0, comma));
    if (entry.ends_with('L')) entry.remove_suffix(1);  // a Python 2 long
    const auto value = parse_number<std::int64_t>(entry);
    if (!value) throw_usage("{} is '{}', but a tuple of whole numbers is needed", what, text);
    check_size(*value, what);
    result.push_back(*value);
    rest = comma == std::string_view::npos ? std::string_view{} : trimmed(rest.substr(comma + 1));
  }
  return result;
}

Parameters parse_parameters(std::string_view owner, std::span<const ParameterSpec> schema,
                            const std::map<std::string, std::string>& attributes) {
  const auto names = [&] {
    std::vector<std::string_view> list;
    for (const ParameterSpec& spec : schema) list.push_back(spec.name);
    return list.empty() ? std::string("no parameters") : fmt::format("{}", fmt::join(list, ", "));
  };
  std::vector<std::string_view> unknown;
  for (const auto& attribute : attributes) {
    const std::string& key = attribute.first;
    const auto known = [&](const ParameterSpec& spec) { return spec.name == key; };
    if (!is_user_attribute(key) && std::ranges::none_of(schema, known)) unknown.push_back(key);
  }
  if (!unknown.empty()) throw_usage("{}: unknown parameter {}; it has {}", owner, fmt::join(unknown, ", "), names());

  Parameters parameters;
  parameters.schema_ = schema;
  for (const ParameterSpec& spec : schema) {
    const auto given = attributes.find(std::string(spec.name));
    if (given == attributes.end() && spec.default_text == nullptr) throw_usage("{}: {} is required", owner, spec.name);
    const std::string_view text = given == attributes.end() ? spec.default_text : std::string_view(given->second);
    parameters.values_.push_back(parse_value(spec, fmt::format("{}: {}", owner, spec.name), text));
  }
  return parameters;
}

const Parameters::Value& Parameters::value(std::string_view name) const {
  for (std::size_t i = 0; i < schema_.size(); ++i)
    if (schema_[i].name == name) return values_[i];
  COHORT_FAIL(check, "the operator has no parameter '{}'", name);
}

template <class T>
const T& Parameters::as(std::string_view name) const {
  const T* typed = std::get_if<T>(&value(name));
  COHORT_CHECK(typed != nullptr, "parameter '{}' is None or of another type", name);
  return *typed;
}

bool Parameters::has(std::string_view name) const { return !std::holds_alternative<std::monostate>(value(name)); }
bool Parameters::flag(std::string_view name) const { return as<bool>(name); }
std::int64_t Parameters::integer(std::string_view name) const { return as<std::int64_t>(name); }
float Parameters::real(std::string_view name) const { return static_cast<float>(as<double>(name)); }
const std::string& Parameters::text(std::string_view name) const { return as<std::string>(name); }
const Shape& Parameters::tuple(std::string_view name) const { return as<Shape>(name); }

}  // namespace cohort
