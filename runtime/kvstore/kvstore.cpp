#include "runtime/kvstore/kvstore.hpp"

namespace cohort {

std::string Key::text() const {
  if (const int* const number = std::get_if<int>(&value_)) return std::to_string(*number);
  return std::get<std::string>(value_);
}

void KVStore::broadcast(std::span<const Key> keys, std::span<const NDArray> values,
                        std::span<const std::vector<NDArray>> outs, int priority) {
  init(keys, values);
  pull(keys, outs, priority);
}

void KVStore::init(const Key& key, const NDArray& value) { init(std::span(&key, 1), std::span(&value, 1)); }

void KVStore::push(const Key& key, const NDArray& value, int priority) {
  const std::vector<NDArray> values{value};
  push(std::span(&key, 1), std::span(&values, 1), priority);
}

void KVStore::pull(const Key& key, const NDArray& out, int priority) {
  const std::vector<NDArray> outs{out};
  pull(std::span(&key, 1), std::span(&outs, 1), priority);
}

void KVStore::pushpull(const Key& key, const NDArray& value, const NDArray& out, int priority) {
  const std::vector<NDArray> values{value}, outs{out};
  pushpull(std::span(&key, 1), std::span(&values, 1), std::span(&outs, 1), priority);
}

}  // namespace cohort
