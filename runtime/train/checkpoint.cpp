#include "runtime/train/checkpoint.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "kernels/base/atomic_file.hpp"
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
  ParameterMap parameters;
  for (auto& [name, array] : load_arrays(context, params_path(prefix, epoch)))
    if (name.starts_with("arg:")) parameters[name.substr(4)] = array;
  return parameters;
}

void require_writable(const std::string& prefix, const std::string& flag) {
  const std::string probe = fmt::format("{}.probe.{}", prefix, ::getpid());
  std::FILE* file = std::fopen(probe.c_str(), "w");
  if (!file) throw_usage("--{} {}: no file can be written there: {}", flag, prefix, std::strerror(errno));
  std::fclose(file);
  std::remove(probe.c_str());
}

std::string read_text_file(const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (!file) throw_usage("{}: cannot be read: {}", path, std::strerror(errno));
  std::string text;
  char block[65536];
  std::size_t got = 0;
  while ((got = std::fread(block, 1, sizeof block, file.get())) > 0) text.append(block, got);
  if (std::ferror(file.get())) throw_usage("{}: cannot be read: {}", path, std::strerror(errno));
  return text;
}

}  // namespace cohort
