// One move-only owner for every handle of a C library.
#pragma once

#include <utility>

namespace cohort {

// `Traits` states `value_type`, `null()` and `release(value)`; release must not throw. A moved-from handle is null.
template <class Traits>
class UniqueHandle {
 public:
  using value_type = typename Traits::value_type;

  UniqueHandle() noexcept = default;
  explicit UniqueHandle(value_type value) noexcept : value_(value) {}
  UniqueHandle(UniqueHandle&& other) noexcept : value_(std::exchange(other.value_, Traits::null())) {}
  UniqueHandle& operator=(UniqueHandle&& other) noexcept {
    if (this != &other) {
      reset();
      value_ = std::exchange(other.value_, Traits::null());
    }
    return *this;
  }
  UniqueHandle(const UniqueHandle&) = delete;
  UniqueHandle& operator=(const UniqueHandle&) = delete;
  ~UniqueHandle() { reset(); }

  value_type get() const noexcept { return value_; }
  explicit operator bool() const noexcept { return !(value_ == Traits::null()); }
  value_type release() noexcept { return std::exchange(value_, Traits::null()); }
  void reset(value_type value = Traits::null()) noexcept {
    if (*this) Traits::release(value_);
    value_ = value;
  }

 private:
  value_type value_ = Traits::null();
};

}  // namespace cohort
