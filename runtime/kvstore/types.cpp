// The table of store types.
#include <algorithm>
#include <cctype>

#include "runtime/kvstore/sync_store.hpp"

namespace cohort {
namespace {

template <class Store>
std::unique_ptr<KVStore> make(World& world, Context& context, std::string_view name, const StoreOptions& options) {
  return std::make_unique<Store>(world, context, name, options);
}

constexpr StoreRow rows[] = {
    {"local", "one rank: sums over its devices, updates in place", false, make<SyncStore>},
    {"dist_sync", "all ranks: one update per round, from the sum over ranks", true, make<SyncStore>},
};

}  // namespace

std::span<const StoreRow> store_table() { return rows; }

const StoreRow& find_store(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  std::string known;
  for (const StoreRow& row : rows) {
    if (row.name == lower) return row;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw_usage("unknown kv-store type '{}'; there are: {}", name, known);
}

std::unique_ptr<KVStore> make_store(World& world, Context& context, std::string_view name,
                                    const StoreOptions& options) {
  const StoreRow& row = find_store(name);
  if (!row.distributed && world.size() > 1)
    throw_usage("kv-store type '{}' is for one rank, but the job has {}: use dist_sync, or start one rank", row.name,
                world.size());
  return row.make(world, context, row.name, options);
}

}  // namespace cohort
