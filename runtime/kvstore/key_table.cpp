#include "runtime/kvstore/key_table.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>

#include "collectives/same_text.hpp"

namespace cohort {
namespace {

// One line per key, ascending by name: "name \t what it is". Names are escaped, so that a line is a line.
using Description = std::map<std::string, std::string>;

std::string escaped(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (c == '\n')
      text += "\\n";
    else if (c == '\t')
      text += "\\t";
    else
      text += c;
  }
  return text;
}

Description describe(std::span<const Key> keys, std::span<const NDArray> values) {
  Description description;
  for (std::size_t i = 0; i < keys.size() && i < values.size(); ++i)
    description[escaped(keys[i].text())] = fmt::format("{}{} {}", keys[i].number() ? "integer key, " : "",
                                                       to_string(values[i].shape()), to_string(values[i].dtype()));
  return description;
}

std::string joined(const Description& description, const std::string& objection) {
  std::string text = escaped(objection) + "\n";
  for (const auto& [name, what] : description) text.append(name).append("\t").append(what).append("\n");
  return text;
}

struct Parsed {
  std::string objection;
  Description keys;
};

Parsed parse(const std::string& text) {
  Parsed parsed;
  std::istringstream lines(text);
  std::getline(lines, parsed.objection);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos) parsed.keys[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return parsed;
}

// The first key that the two do not share, and what each has for it.
std::string difference(const Description& first, const std::string& first_name, const Description& other,
                       const std::string& other_name) {
  std::set<std::string> names;
  for (const auto& [name, what] : first) names.insert(name);
  for (const auto& [name, what] : other) names.insert(name);
  const auto value = [](const Description& keys, const std::string& name) {
    const auto found = keys.find(name);
    return found == keys.end() ? std::string("no such key") : found->second;
  };
  for (const std::string& name : names)
    if (value(first, name) != value(other, name))
      return fmt::format("key '{}' differs: {} has {}, {} has {}", name, first_name, value(first, name), other_name,
                         value(other, name));
  return "the keys differ";
}

}  // namespace

int KeyTable::slot(const Key& key) const {
  if (const auto found = slots_.find(key); found != slots_.end()) return found->second;
  if (!slots_.empty() && slots_.begin()->first.number() != key.number())
    throw_usage("key '{}' is {}, but this store's keys are {}", key.text(), key.number() ? "an integer" : "a name",
                key.number() ? "names" : "integers");
  throw_usage("key '{}' does not exist; was it given to init?", key.text());
}

int KeyTable::add(const Key& key) {
  const int slot = size();
  slots_.emplace(key, slot);
  return slot;
}

std::string KeyTable::objection(std::span<const Key> keys, std::span<const NDArray> values) const {
  if (keys.size() != values.size()) return fmt::format("{} keys, but {} values", keys.size(), values.size());
  std::set<Key> seen;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Key& key = keys[i];
    const bool integers = slots_.empty() ? keys[0].number() : slots_.begin()->first.number();
    if (key.number() != integers)
      return fmt::format("key '{}' is {}, but this store's keys are {}", key.text(),
                         key.number() ? "an integer" : "a name", integers ? "integers" : "names");
    if (slots_.contains(key) || !seen.insert(key).second)
      return fmt::format("key '{}' is initialised a second time", key.text());
    const NDArray& value = values[i];
    if (value.none() || value.count() == 0) return fmt::format("key '{}' has an empty value", key.text());
    if (value.device().kind != DeviceKind::cpu)
      return fmt::format("key '{}' lies on {}; this store takes arrays of the host", key.text(),
                         to_string(value.device()));
    if (value.dtype() != DType::f32)
      return fmt::format("key '{}' has dtype {}; this store takes float32", key.text(), to_string(value.dtype()));
  }
  return {};
}

std::vector<std::size_t> agree_on_keys(World& world, std::span<const Key> keys, std::span<const NDArray> values,
                                       const std::string& objection) {
  const Description mine = describe(keys, values);
  if (const auto found = find_disagreement(world.all(), joined(mine, objection))) {
    const Parsed first = parse(found->first), other = parse(found->other);
    if (!first.objection.empty()) throw_usage("{}: {}", world.describe(0), first.objection);
    if (!other.objection.empty()) throw_usage("{}: {}", world.describe(found->rank), other.objection);
    throw_usage("{}", difference(first.keys, world.describe(0), other.keys, world.describe(found->rank)));
  }
  if (!objection.empty()) throw_usage("{}", objection);

  std::vector<std::size_t> sorted(keys.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  std::sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  // Rank 0's order as places in the sorted list, which is the same everywhere.
  std::vector<std::int64_t> order(keys.size());
  for (std::size_t place = 0; place < sorted.size(); ++place) order[sorted[place]] = static_cast<std::int64_t>(place);
  world.all().broadcast(view_of(order.data(), static_cast<std::int64_t>(order.size())), 0, "order of the keys");
  std::vector<std::size_t> result;
  result.reserve(order.size());
  for (const std::int64_t place : order) result.push_back(sorted[static_cast<std::size_t>(place)]);
  return result;
}

}  // namespace cohort
