// Initial values of parameters: functions of seed, name and element, so every rank draws the same without talking.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/shape.hpp"

namespace cohort {

struct InitializerRow {
  std::string_view name;
  std::string_view summary;
  void (*fill)(std::span<float> values, const Shape& shape, std::uint64_t seed, const std::string& parameter);
};
// default, xavier, msra, normal, uniform, one, zero.
std::span<const InitializerRow> initializer_table();

// Fills the parameter by MXNet's dispatch: the variable's own `__init__` text first (like ["zero", {}]), else by the
// name's suffix: weight -> the chosen row; bias, beta, moving_mean, running_mean -> 0; gamma, moving_var, running_var
// -> 1; min -> 0; max -> 1; anything else is an error. `chosen` is a table name; "default" means Xavier(gaussian, in,
// 2), but for networks whose name says otherwise (alexnet, vgg*). Throws Error(usage).
void initialize_parameter(std::span<float> values, const Shape& shape, const std::string& parameter,
                          const std::string& chosen, const std::string& network, std::uint64_t seed,
                          const std::optional<std::string>& own_init = std::nullopt);

}  // namespace cohort
