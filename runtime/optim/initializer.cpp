#include "runtime/optim/initializer.hpp"

#include "kernels/base/error.hpp"
#include "runtime/optim/initializer_rows.hpp"
#include "runtime/optim/table.hpp"

namespace cohort {
namespace {

constexpr InitializerRow table[] = {
    {"default", "", "xavier (gaussian, in, 2); normal for alexnet, xavier for vgg", fill_default},
    {"xavier", "", "spread by the number of inputs and outputs", fill_xavier},
    {"msra", "msraprelu", "xavier for leaky rectifiers (gaussian, slope 0.25)", fill_msra},
    {"normal", "", "gaussian, sigma 0.01", fill_normal},
    {"uniform", "", "from -0.07 to 0.07", fill_uniform},
    {"constant", "", "one value, given in the variable's own init", fill_constant},
    {"one", "ones", "1 everywhere", fill_one},
    {"zero", "zeros", "0 everywhere", fill_zero},
};

// What a parameter is filled with when its name ends like this; "" stands for the chosen initializer.
struct Suffix {
  std::string_view ending;
  std::string_view initializer;
};
constexpr Suffix suffixes[] = {
    {"weight", ""},           {"bias", "zero"},      {"beta", "zero"},       {"gamma", "one"}, {"moving_mean", "zero"},
    {"running_mean", "zero"}, {"moving_var", "one"}, {"running_var", "one"}, {"min", "zero"},  {"max", "one"},
};

// The chosen initializer for weights of a network.
std::string for_network(const std::string& chosen, const std::string& network) {
  if (chosen != "default") return chosen;
  if (network == "alexnet") return "normal";
  return network.find("vgg") != std::string::npos ? "xavier" : chosen;
}

InitializerText choose(const std::string& parameter, const std::string& chosen, const std::string& network) {
  for (const Suffix& suffix : suffixes)
    if (parameter.ends_with(suffix.ending))
      return {suffix.initializer.empty() ? for_network(chosen, network) : std::string(suffix.initializer), {}};
  std::string known;
  for (const Suffix& suffix : suffixes) known += fmt::format("{}{}", known.empty() ? "" : ", ", suffix.ending);
  throw_usage("no rule for the initial value of '{}': give the variable its own init, or a name that ends in {}",
              parameter, known);
}

}  // namespace

std::span<const InitializerRow> initializer_table() { return table; }

void initialize_parameter(std::span<float> values, const Shape& shape, const std::string& parameter,
                          const std::string& chosen, const std::string& network, std::uint64_t seed,
                          const std::optional<std::string>& own_init) {
  COHORT_CHECK(static_cast<std::int64_t>(values.size()) == shape.count(), "{} values for the parameter {} of shape {}",
               values.size(), parameter, to_string(shape));
  try {
    InitializerText text =
        own_init && !own_init->empty() ? parse_initializer(*own_init) : choose(parameter, chosen, network);
    const InitializerRow& row = find_row(initializer_table(), "initializer", text.name);
    row.fill(values, shape, RandomStream(seed, "initial value of " + parameter), text.arguments);
    text.arguments.check_empty(row.name);
  } catch (Error& error) {
    error.add_context(fmt::format("initializing {}", parameter));
    throw;
  }
}

}  // namespace cohort
