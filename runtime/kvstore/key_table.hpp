// Which keys a store has, and whether all ranks mean the same by them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/kvstore/kvstore.hpp"

namespace cohort {

// Keys by slot number, in the order of their init. One kind of key only.
class KeyTable {
 public:
  // Throws Error(usage) when there is no such key.
  int slot(const Key& key) const;
  bool contains(const Key& key) const { return slots_.contains(key); }
  int size() const { return static_cast<int>(slots_.size()); }
  int add(const Key& key);
  // Why `keys` and `values` cannot be registered by this rank alone; empty when they can.
  std::string objection(std::span<const Key> keys, std::span<const NDArray> values) const;

 private:
  std::map<Key, int> slots_;
};

// Compares names, kinds, shapes and dtypes of an init list over all ranks, whatever their order; `objection` is this
// rank's own. A difference throws Error(usage) on every rank with the key, the first rank that differs and both values.
// Returns the list's indices in rank 0's order. Collective.
std::vector<std::size_t> agree_on_keys(World& world, std::span<const Key> keys, std::span<const NDArray> values,
                                       const std::string& objection);

}  // namespace cohort
