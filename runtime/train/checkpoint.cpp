#include "runtime/train/checkpoint.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "kernels/base/atomic_file.hpp"
#include "kernels/base/files.hpp"
#include "runtime/ndarray/params_file.hpp"

namespace cohort {

std::string params_path(const std::string& prefix, int epoch) { return fmt::format("{}-{:04}.params", prefix, epoch); }

std::string symbol_path(const std::string& prefix) { return prefix + "-symbol.json"; }

void save_checkpoint(const std::string& prefix, int epoch, const Symbol& symbol, const ParameterMap& parameters) {
  AtomicFile file(symbol_path(prefix));
  file.write(symbol.to_json());
  file.commit();
  NamedArrays arrays;
  for (const std::string& name : symbol.list_arguments())
    if (const auto found = parameters.find(name); found != parameters.end())
      arrays.emplace_back("arg:" + name, found->second);
  save_arrays(params_path(prefix, epoch), arrays);
}

ParameterMap load_checkpoint(Context& context, const std::string& prefix, int epoch, const Symbol& symbol) {
  const std::string description = symbol_path(prefix);
  const Symbol stored = Symbol::from_json(read_text_file(description), description);
  if (stored.to_json() != symbol.to_json())
    throw_usage("{} describes another network than --network builds", description);
  const std::string path = params_path(prefix, epoch);
  ParameterMap parameters;
  for (auto& [name, array] : load_arrays(context, path)) {
    if (name.starts_with("arg:")) {
      if (!parameters.emplace(name.substr(4), array).second) throw_usage("{}: two arrays are named '{}'", path, name);
    } else if (!name.starts_with("aux:")) {
      throw_usage("{}: the array '{}' is neither arg:NAME nor aux:NAME", path, name);
    }
  }
  return parameters;
}

void require_writable(const std::string& prefix, const std::string& flag) {
  // As long as the longest name to come.
  const std::string probe = fmt::format("{}.tmp.{}", symbol_path(prefix), ::getpid());
  if (!open_for_writing(probe))
    throw_usage("--{} {}: no file can be written there: {}", flag, prefix, std::strerror(errno));
  std::remove(probe.c_str());
  // The names of later epochs are too many to look at.
  for (const std::string& path : {symbol_path(prefix), params_path(prefix, 1)})
    if (std::filesystem::is_directory(path)) throw_usage("--{} {}: {} is a directory", flag, prefix, path);
}

std::string read_text_file(const std::string& path) {
  const FilePointer file = open_regular(path);
  std::string text;
  char block[65536];
  std::size_t got = 0;
  while ((got = std::fread(block, 1, sizeof block, file.get())) > 0) text.append(block, got);
  if (std::ferror(file.get())) throw_usage("cannot read {}: {}", path, std::strerror(errno));
  return text;
}

}  // namespace cohort
