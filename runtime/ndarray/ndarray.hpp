// NDArray: a shaped array on a device label; calls enqueue and return, reading waits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/base/device.hpp"
#include "kernels/base/dtype.hpp"
#include "kernels/base/shape.hpp"
#include "kernels/base/view.hpp"
#include "runtime/context.hpp"

namespace cohort {

// Row-major. A copy of an NDArray is the same array (shared memory); `copy()` makes a new one. Argument errors throw at
// the call; errors inside enqueued work poison what it would have written and are thrown at the next wait.
class NDArray {
 public:
  NDArray() = default;  // none: no memory, empty shape

  static NDArray zeros(Context& context, const Shape& shape, DType dtype = DType::f32, Device device = cpu());
  static NDArray full(Context& context, const Shape& shape, float value, Device device = cpu());
  static NDArray from_values(Context& context, const Shape& shape, std::span<const float> values,
                             Device device = cpu());
  // An array in memory that somebody else owns (an arena, a staging slot).
  static NDArray wrap(Context& context, std::shared_ptr<Buffer> buffer, std::size_t byte_offset, const Shape& shape,
                      DType dtype = DType::f32, Device device = cpu());

  bool none() const { return buffer_ == nullptr; }
  const Shape& shape() const { return shape_; }
  std::int64_t count() const { return shape_.count(); }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  Context& context() const { return *context_; }

  // Views that share memory, events and version: rows [begin, end) of the first axis, and another shape of equal count.
  NDArray slice(std::int64_t begin, std::int64_t end) const;
  NDArray reshape(const Shape& shape) const;

  // Enqueue on this array's (copy_to: the target's) label. Shapes must match; copy_to crosses labels and converts
  // between element types. Arithmetic and fill are float32 only, with all arrays on one label.
  NDArray copy() const;
  void copy_to(NDArray& target) const;
  void fill(float value);
  NDArray& operator+=(const NDArray& other);
  NDArray& operator-=(const NDArray& other);
  NDArray& operator*=(float factor);
  friend NDArray operator+(const NDArray& a, const NDArray& b);
  friend NDArray operator-(const NDArray& a, const NDArray& b);
  friend NDArray operator*(const NDArray& a, const NDArray& b);
  friend NDArray operator*(const NDArray& a, float factor);

  // Copy from host memory (the source may be reused at once) and to it; both wait, and convert from and to float.
  void assign(std::span<const float> values);
  std::vector<float> values() const;

  // Block until enqueued writes (and reads) are done; throw the stored error, if any, and clear it for this memory.
  void wait_to_read() const;
  void wait_to_write() const;

  // Memory for code that runs inline in the caller's thread. Waits first when something is pending; data() for reading
  // and writing alike. The writer says so with bump_version().
  float* data() const;
  std::byte* raw_data() const;
  View view() const { return {raw_data(), count(), dtype_}; }
  std::uint64_t version() const { return buffer_->version(); }
  void bump_version() const { buffer_->bump_version(); }
  const std::shared_ptr<Buffer>& buffer() const { return buffer_; }
  std::size_t byte_offset() const { return byte_offset_; }

 private:
  NDArray(Context& context, std::shared_ptr<Buffer> buffer, std::size_t byte_offset, Shape shape, DType dtype,
          Device device);
  // Where the array lies, without waiting: for tasks, which run in their turn.
  void* location() const;

  // out = a <operation> b and out = factor * a, where `out` may be an input.
  using Binary = void (Elementwise::*)(const float*, const float*, float*, std::int64_t);
  static void combine(const NDArray& a, const NDArray& b, NDArray& out, Binary operation, const char* doing);
  static NDArray combined(const NDArray& a, const NDArray& b, Binary operation, const char* doing);
  static void scale(const NDArray& a, float factor, NDArray& out);

  Context* context_ = nullptr;
  std::shared_ptr<Buffer> buffer_;
  std::size_t byte_offset_ = 0;
  Shape shape_;
  DType dtype_ = DType::f32;
  Device device_;
};

}  // namespace cohort
