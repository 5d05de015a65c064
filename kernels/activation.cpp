#include "kernels/activation.hpp"

#include <array>
#include <utility>

namespace cohort {

namespace {

constexpr std::array<std::pair<ActivationKind, std::string_view>, 5> names{{
    {ActivationKind::relu, "relu"},
    {ActivationKind::sigmoid, "sigmoid"},
    {ActivationKind::tanh, "tanh"},
    {ActivationKind::softrelu, "softrelu"},
    {ActivationKind::softsign, "softsign"},
}};

}  // namespace

std::string_view to_string(ActivationKind kind) {
  for (const auto& [value, name] : names)
    if (value == kind) return name;
  return "unknown";
}

std::optional<ActivationKind> activation_from_name(std::string_view name) {
  for (const auto& [value, text] : names)
    if (text == name) return value;
  return std::nullopt;
}

}  // namespace cohort
