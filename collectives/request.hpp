// A nonblocking operation in flight.
#pragma once

#include <memory>
#include <string>

namespace cohort {

// What a backend implements for one operation.
class RequestState {
 public:
  virtual ~RequestState() = default;
  // True once the operation has completed. Throws Error(mpi) when it failed.
  virtual bool test() = 0;
  virtual const std::string& description() const = 0;
};

// Move-only. Dropping one that is not done is a bug that is logged; it never waits.
class Request {
 public:
  Request() = default;
  explicit Request(std::unique_ptr<RequestState> state) : state_(std::move(state)) {}
  Request(Request&&) noexcept = default;
  Request& operator=(Request&&) noexcept;
  ~Request();

  // True when there is nothing (more) to wait for.
  bool test();
  bool empty() const { return state_ == nullptr; }
  std::string description() const { return state_ ? state_->description() : std::string("nothing"); }

 private:
  std::unique_ptr<RequestState> state_;
};

}  // namespace cohort
