// Initial values of parameters: functions of seed, name and element, so every rank draws the same without talking.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/random.hpp"
#include "kernels/base/shape.hpp"
#include "runtime/optim/initializer_arguments.hpp"

namespace cohort {

struct InitializerRow {
  std::string_view name;
  std::string_view aliases;  // separated by commas
  std::string_view summary;
  // `stream` is the parameter's own. Takes what it knows out of `arguments`.
  void (*fill)(std::span<float> values, const Shape& shape, const RandomStream& stream,
               InitializerArguments& arguments);
};
// default, xavier, msra, normal, uniform, constant, one, zero.
std::span<const InitializerRow> initializer_table();

// Fills the parameter by MXNet's dispatch: the variable's own `__init__` text first (like ["zero", {}], or a name
// alone), else by the name's suffix: weight -> the chosen row; bias, beta, moving_mean, running_mean -> 0; gamma,
// moving_var, running_var -> 1; min -> 0; max -> 1; anything else is an error. `chosen` is a table name; "default"
// means Xavier(gaussian, in, 2), but for networks whose name says otherwise (alexnet, vgg*). Throws Error(usage).
void initialize_parameter(std::span<float> values, const Shape& shape, const std::string& parameter,
                          const std::string& chosen, const std::string& network, std::uint64_t seed,
                          const std::optional<std::string>& own_init = std::nullopt);

}  // namespace cohort
