// Steps that may fail on one rank alone (reading a file, say), made to fail on all of them.
#pragma once

#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "collectives/world.hpp"
#include "kernels/base/error.hpp"

namespace cohort {

// An error that every rank throws with the same text.
class AgreedError final : public Error {
 public:
  using Error::Error;
};

// Whether all ranks throw this error, so that one line says it and all can leave in good order: wrong usage is found by
// all alike.
bool found_by_all(const Error& error);

// What went wrong in a step on this rank.
struct StepFailure {
  ErrorKind kind;
  std::string text;  // without the kind
};

// A file that cannot be read or written counts as wrong usage, without a place: nothing has been trained yet.
StepFailure failure_of(const Error& error);

// Collective. When any rank failed, throws AgreedError on every rank with the kind and text of the first that did,
// named unless all of them failed.
void require_success(World& world, const std::optional<StepFailure>& failure, std::string_view what);

// Runs `step` on every rank and fails on all of them when it fails on one. Collective; `step` itself must not be.
template <class Step>
auto agreed(World& world, std::string_view what, Step&& step) {
  std::optional<StepFailure> failure;
  decltype(step()) result{};
  try {
    result = step();
  } catch (const Error& error) {
    failure = failure_of(error);
  } catch (const std::bad_alloc&) {
    failure = {ErrorKind::memory, "not enough memory"};
  } catch (const std::exception& error) {
    failure = {ErrorKind::check, error.what()};
  }
  require_success(world, failure, what);
  return result;
}

}  // namespace cohort
