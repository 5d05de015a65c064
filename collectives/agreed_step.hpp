// Steps that may fail on one rank alone (reading a file, say), made to fail on all of them.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "collectives/world.hpp"
#include "kernels/base/error.hpp"

namespace cohort {

// Collective. `failure` is this rank's error text, empty where it succeeded. When any rank failed, throws Error(usage)
// on every rank with the text of the first that did, named unless all of them failed.
void require_success(World& world, const std::string& failure, std::string_view what);

// Runs `step` on every rank and fails on all of them when it fails on one. Collective; `step` itself must not be.
template <class Step>
auto agreed(World& world, std::string_view what, Step&& step) {
  std::string failure;
  decltype(step()) result{};
  try {
    result = step();
  } catch (const std::exception& error) {
    failure = error.what();
    if (failure.empty()) failure = "unknown error";
  }
  require_success(world, failure, what);
  return result;
}

}  // namespace cohort
