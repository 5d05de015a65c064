// Every kind of store that this run's ranks can make, one after the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/kvstore/kvstore.hpp"
#include "test/support/all_ranks.hpp"
#include "test/support/mpi_main.hpp"
#include "test/support/plain_backend.hpp"

namespace cohort::test {

struct StoreCase {
  std::string type;
  StoreOptions options;
};

// All rows of the table that fit the number of ranks, each with every placement of its weights.
inline std::vector<StoreCase> store_cases(const World& world) {
  std::vector<StoreCase> cases;
  for (const StoreRow& row : store_table()) {
    if (!row.distributed && world.size() > 1) continue;
    cases.push_back({std::string(row.name), {}});
    cases.push_back({std::string(row.name), {.servers_per_node = 1}});
    cases.push_back({std::string(row.name), {.private_weights = true}});
  }
  return cases;
}

// Calls body(store, context) on a fresh store of every kind. Collective.
template <class Body>
void with_every_store(const Body& body) {
  World& world = test_world();
  for (const StoreCase& each : store_cases(world)) {
    INFO("kv-store " << each.type << ", servers per node " << each.options.servers_per_node << ", private weights "
                     << each.options.private_weights);
    Context context(plain_backend(), 2);
    const auto store = make_store(world, context, each.type, each.options);
    body(*store, context);
    store->close();
  }
}

inline NDArray full(Context& context, const Shape& shape, float value, int device = 0) {
  return NDArray::full(context, shape, value, cpu(device));
}

// Whether every element has this value.
inline bool all_equal(const NDArray& array, float value) {
  for (const float element : array.values())
    if (element != value) return false;
  return true;
}

inline int sum_up_to(int last) { return last * (last + 1) / 2; }

// Sum of rank+1 over all ranks.
inline float sum_of_ranks(const World& world) { return static_cast<float>(sum_up_to(world.size())); }

// What `body` throws, empty when it throws nothing; `kind` receives the error's kind.
template <class Body>
std::string error_of(const Body& body, ErrorKind* kind = nullptr) {
  try {
    body();
  } catch (const Error& error) {
    if (kind) *kind = error.kind();
    return error.what();
  }
  return {};
}

}  // namespace cohort::test
