// Views: memory with its element type and count, never a bare pointer. A view owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/dtype.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/shape.hpp"

namespace cohort {

// Physical order of an image's axes. The logical shape is N,C,H,W in both cases.
enum class Layout { row_major, channels_last };

struct ConstView {
  const void* data = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::f32;

  std::size_t bytes() const { return static_cast<std::size_t>(count) * dtype_bytes(dtype); }
  template <class T>
  const T* as() const {
    COHORT_CHECK(dtype == dtype_v<T>, "a view of {} was read as {}", to_string(dtype), to_string(dtype_v<T>));
    return static_cast<const T*>(data);
  }
};

struct View {
  void* data = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::f32;

  std::size_t bytes() const { return static_cast<std::size_t>(count) * dtype_bytes(dtype); }
  template <class T>
  T* as() const {
    COHORT_CHECK(dtype == dtype_v<T>, "a view of {} was used as {}", to_string(dtype), to_string(dtype_v<T>));
    return static_cast<T*>(data);
  }
  operator ConstView() const { return {data, count, dtype}; }
  View slice(std::int64_t begin, std::int64_t length) const {
    return {static_cast<std::byte*>(data) + static_cast<std::size_t>(begin) * dtype_bytes(dtype), length, dtype};
  }
};

template <class T>
View view_of(T* data, std::int64_t count) {
  return {data, count, dtype_v<T>};
}
template <class T>
ConstView view_of(const T* data, std::int64_t count) {
  return {data, count, dtype_v<T>};
}

// A view with shape and layout, of float32 unless said otherwise. `Pointer` is `void*` or `const void*`.
template <class Pointer>
struct BasicTensorView {
  Pointer data = nullptr;
  Shape shape;
  DType dtype = DType::f32;
  Layout layout = Layout::row_major;
};
using TensorView = BasicTensorView<void*>;
using ConstTensorView = BasicTensorView<const void*>;

}  // namespace cohort
