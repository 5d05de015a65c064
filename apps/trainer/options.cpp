#include "apps/trainer/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"
#include "kernels/base/numbers.hpp"
#include "kernels/base/version.hpp"
#include "runtime/kvstore/kvstore.hpp"
#include "runtime/models/models.hpp"
#include "runtime/optim/initializer.hpp"
#include "runtime/optim/optimizer.hpp"

namespace cohort {
namespace {

template <class Row>
std::string names_of(std::span<const Row> table) {
  std::string names;
  for (const Row& row : table) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

// MXNet's programs spell some flags with underscores.
std::vector<std::string> normalised_arguments(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument.starts_with("--")) {
      const auto end = argument.begin() + static_cast<std::ptrdiff_t>(std::min(argument.find('='), argument.size()));
      std::replace(argument.begin(), end, '_', '-');
    }
    arguments.push_back(argument);
  }
  return arguments;
}

// The preset decides the defaults, so it is looked for before anything else is parsed.
std::string find_preset(std::string_view program, const std::vector<std::string>& arguments) {
  std::string preset = "mnist";
  const std::string_view name = program.substr(program.rfind('/') + 1);
  if (name.starts_with("train_")) preset = name.substr(std::string_view("train_").size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--preset" && i + 1 < arguments.size()) preset = arguments[i + 1];
    if (arguments[i].starts_with("--preset=")) preset = arguments[i].substr(std::string_view("--preset=").size());
  }
  return preset;
}

// CLI11 reads a leading zero as another base, nothing as zero, and what is too large as the largest.
template <class Number>
std::string plain_number(const std::string& text) {
  const std::optional<Number> value = parse_number<Number>(text);
  if (!value)
    throw CLI::ValidationError(
        fmt::format("'{}' is no {}", text, std::is_integral_v<Number> ? "whole number" : "number"));
  return fmt::format("{}", *value);
}

void add_flags(CLI::App& app, TrainConfig& config) {
  visit_flags(config, [&](const FlagInfo& flag, auto& value) {
    const std::string name = fmt::format("--{}", flag.name);
    std::string help(flag.help);
    if (flag.name == "network") help += fmt::format(": {}", names_of(model_table()));
    if (flag.name == "kv-store") help += fmt::format(": {}", names_of(store_table()));
    if (flag.name == "optimizer") help += fmt::format(": {}", names_of(optimizer_table()));
    if (flag.name == "initializer") help += fmt::format(": {}", names_of(initializer_table()));
    using Value = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, bool>) {
      app.add_flag(name, value, help)->take_last();
    } else {
      CLI::Option* option = app.add_option(name, value, help)->capture_default_str()->take_last();  // as argparse does
      if constexpr (std::is_arithmetic_v<Value>) option->transform(plain_number<Value>, "");
    }
  });
}

// Names that tables know; files and data are looked at later, when the ranks can agree on what they see.
void validate_tables(const TrainConfig& config) {
  if (!config.kv_store.empty()) find_store(config.kv_store);
  OptimizerOptions optimizer;
  optimizer.name = config.optimizer;
  static_cast<void>(Optimizer(optimizer));
  const auto known = [&](std::string_view flag, const std::string& value, auto table) {
    if (std::none_of(table.begin(), table.end(), [&](const auto& row) { return row.name == value; }))
      throw_usage("--{} {}: unknown; choose one of {}", flag, value, names_of(table));
  };
  known("initializer", config.initializer, initializer_table());
  if (!config.network.ends_with(".json")) known("network", config.network, model_table());
}

std::string first_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  ParsedOptions parsed;
  std::vector<std::string> arguments = normalised_arguments(argc, argv);
  try {
    parsed.config = preset_defaults(find_preset(argc > 0 ? argv[0] : "trainer", arguments));
    CLI::App app{"Trains networks on any number of MPI ranks: mpirun -np N trainer --kv-store dist_sync", "trainer"};
    app.set_version_flag("--version", version_text());
    add_flags(app, parsed.config);
    std::reverse(arguments.begin(), arguments.end());  // the order CLI11 takes
    try {
      app.parse(arguments);
    } catch (const CLI::CallForHelp&) {
      parsed.message = app.help();
      return parsed;
    } catch (const CLI::CallForVersion&) {
      parsed.message = version_text() + "\n";
      return parsed;
    } catch (const CLI::ExtrasError& error) {
      throw_usage("{}; 'trainer --help' lists all flags", first_line(error.what()));
    } catch (const CLI::ParseError& error) {
      throw_usage("{}", first_line(error.what()));
    }
    validate(parsed.config);
    validate_tables(parsed.config);
  } catch (const std::exception& error) {
    parsed.failed = true;
    parsed.message = fmt::format("trainer: {}\n", one_line(error.what()));
  }
  return parsed;
}

}  // namespace cohort
