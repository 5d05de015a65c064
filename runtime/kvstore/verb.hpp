// What every verb of the store does around its own work.
#pragma once

#include "runtime/kvstore/sync_store.hpp"

namespace cohort {

template <class Body>
auto SyncStore::in_verb(const char* verb, const Body& body) {
  rounds_->throw_if_failed();  // says already where it came from
  try {
    COHORT_CHECK(!rounds_->advancing(), "an updater function called the store that runs it");
    return body();
  } catch (Error& error) {
    error.add_context(fmt::format("calling {} of kv-store {}", verb, name_));
    throw;
  }
}

}  // namespace cohort
