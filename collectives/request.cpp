#include "collectives/request.hpp"

#include <exception>

#include "kernels/base/log.hpp"

namespace cohort {
namespace {

// While an exception ends the job, operations are dropped by necessity, and the exception is the news.
void report_dropped(const RequestState* state) {
  if (state == nullptr || std::uncaught_exceptions() > 0) return;
  log_warning("an operation was dropped before it was done: " + state->description());
}

}  // namespace

Request& Request::operator=(Request&& other) noexcept {
  if (this != &other) {
    report_dropped(state_.get());
    state_ = std::move(other.state_);
  }
  return *this;
}

Request::~Request() { report_dropped(state_.get()); }

bool Request::test() {
  if (state_ && state_->test()) state_.reset();
  return state_ == nullptr;
}

}  // namespace cohort
