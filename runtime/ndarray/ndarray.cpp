#include "runtime/ndarray/ndarray.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "runtime/ndarray/convert.hpp"

namespace cohort {
namespace {

// Bytes of a new array. Throws for negative extents and for sizes no memory has.
std::size_t checked_bytes(const Shape& shape, DType dtype) {
  constexpr std::int64_t limit = std::numeric_limits<std::int64_t>::max() / 8;
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    COHORT_CHECK(extent >= 0, "an array cannot have the shape {}", to_string(shape));
    const std::int64_t factor = std::max<std::int64_t>(extent, 1);  // a later 0 must not hide an overflow
    COHORT_CHECK(product <= limit / factor, "an array of shape {} is too large", to_string(shape));
    product *= factor;
  }
  return static_cast<std::size_t>(shape.count()) * dtype_bytes(dtype);
}

void check_present(const NDArray& array, const char* doing) {
  COHORT_CHECK(!array.none(), "{}: the array is none", doing);
}

// What arithmetic asks of its operands.
void check_operands(const NDArray& a, const NDArray& b, const char* doing) {
  check_present(a, doing);
  check_present(b, doing);
  COHORT_CHECK(a.shape() == b.shape(), "{}: shapes {} and {} differ", doing, to_string(a.shape()),
               to_string(b.shape()));
  COHORT_CHECK(a.dtype() == DType::f32 && b.dtype() == DType::f32, "{}: float32 only, not {} and {}", doing,
               to_string(a.dtype()), to_string(b.dtype()));
  COHORT_CHECK(a.device() == b.device(), "{}: the arrays are on {} and {}", doing, to_string(a.device()),
               to_string(b.device()));
}

}  // namespace

NDArray::NDArray(Context& context, std::shared_ptr<Buffer> buffer, std::size_t byte_offset, Shape shape, DType dtype,
                 Device device)
    : context_(&context),
      buffer_(std::move(buffer)),
      byte_offset_(byte_offset),
      shape_(std::move(shape)),
      dtype_(dtype),
      device_(device) {}

NDArray NDArray::zeros(Context& context, const Shape& shape, DType dtype, Device device) {
  context.stream(device);  // an unknown device throws here, not at the first operation
  const std::size_t bytes = checked_bytes(shape, dtype);
  try {
    return {context, Buffer::allocate(bytes), 0, shape, dtype, device};
  } catch (Error& error) {
    error.add_context("making an array of shape " + to_string(shape));
    throw;
  }
}

NDArray NDArray::full(Context& context, const Shape& shape, float value, Device device) {
  NDArray array = zeros(context, shape, DType::f32, device);
  array.fill(value);
  return array;
}

NDArray NDArray::from_values(Context& context, const Shape& shape, std::span<const float> values, Device device) {
  NDArray array = zeros(context, shape, DType::f32, device);
  array.assign(values);
  return array;
}

NDArray NDArray::wrap(Context& context, std::shared_ptr<Buffer> buffer, std::size_t byte_offset, const Shape& shape,
                      DType dtype, Device device) {
  context.stream(device);
  COHORT_CHECK(buffer != nullptr, "an array needs memory");
  const std::size_t bytes = checked_bytes(shape, dtype);
  COHORT_CHECK(byte_offset <= buffer->bytes() && bytes <= buffer->bytes() - byte_offset,
               "an array of {} bytes at byte {} exceeds its memory of {} bytes", bytes, byte_offset, buffer->bytes());
  const auto address = reinterpret_cast<std::uintptr_t>(buffer->data()) + byte_offset;
  COHORT_CHECK(address % dtype_bytes(dtype) == 0, "an array of {} is not aligned at byte {}", to_string(dtype),
               byte_offset);
  return {context, std::move(buffer), byte_offset, shape, dtype, device};
}

void* NDArray::location() const { return static_cast<std::byte*>(buffer_->data()) + byte_offset_; }

NDArray NDArray::slice(std::int64_t begin, std::int64_t end) const {
  check_present(*this, "slice");
  COHORT_CHECK(begin >= 0 && begin <= end && !shape_.empty() && end <= shape_[0], "slice: no rows {} to {} in {}",
               begin, end, to_string(shape_));
  Shape part = shape_;
  part[0] = end - begin;
  const std::size_t rows_before = static_cast<std::size_t>(begin);
  const std::size_t row_bytes =
      shape_[0] == 0 ? 0 : static_cast<std::size_t>(count() / shape_[0]) * dtype_bytes(dtype_);
  return {*context_, buffer_, byte_offset_ + rows_before * row_bytes, std::move(part), dtype_, device_};
}

NDArray NDArray::reshape(const Shape& shape) const {
  check_present(*this, "reshape");
  COHORT_CHECK(checked_bytes(shape, dtype_) == static_cast<std::size_t>(count()) * dtype_bytes(dtype_),
               "reshape: {} and {} have different counts", to_string(shape_), to_string(shape));
  return {*context_, buffer_, byte_offset_, shape, dtype_, device_};
}

NDArray NDArray::copy() const {
  check_present(*this, "copy");
  NDArray target = zeros(*context_, shape_, dtype_, device_);
  copy_to(target);
  return target;
}

void NDArray::copy_to(NDArray& target) const {
  check_present(*this, "copy_to");
  check_present(target, "copy_to");
  COHORT_CHECK(shape_ == target.shape_, "copy_to: shapes {} and {} differ", to_string(shape_),
               to_string(target.shape_));
  check_convertible(dtype_, target.dtype_);
  const ConstView from{location(), count(), dtype_};
  const View to{target.location(), count(), target.dtype_};
  if (from.data == to.data && from.dtype == to.dtype) return;
  target.context_->enqueue(target.device_, {&buffer_, 1}, {&target.buffer_, 1},
                           [from, to] { convert_elements(from, to); });
}

void NDArray::fill(float value) {
  check_operands(*this, *this, "fill");
  context_->enqueue(device_, {}, {&buffer_, 1},
                    [&kernel = context_->elementwise(device_), out = static_cast<float*>(location()), n = count(),
                     value] { kernel.fill(out, n, value); });
}

void NDArray::combine(const NDArray& a, const NDArray& b, NDArray& out, Binary operation, const char* doing) {
  check_operands(a, b, doing);
  const std::array reads{a.buffer_, b.buffer_};
  out.context_->enqueue(
      out.device_, reads, {&out.buffer_, 1},
      [&kernel = out.context_->elementwise(out.device_), operation, n = out.count(),
       left = static_cast<const float*>(a.location()), right = static_cast<const float*>(b.location()),
       to = static_cast<float*>(out.location())] { (kernel.*operation)(left, right, to, n); });
}

NDArray NDArray::combined(const NDArray& a, const NDArray& b, Binary operation, const char* doing) {
  check_operands(a, b, doing);
  NDArray out = zeros(a.context(), a.shape(), a.dtype(), a.device());
  combine(a, b, out, operation, doing);
  return out;
}

void NDArray::scale(const NDArray& a, float factor, NDArray& out) {
  check_operands(a, a, "multiply");
  out.context_->enqueue(out.device_, {&a.buffer_, 1}, {&out.buffer_, 1},
                        [&kernel = out.context_->elementwise(out.device_), factor, n = out.count(),
                         from = static_cast<const float*>(a.location()),
                         to = static_cast<float*>(out.location())] { kernel.affine(from, factor, 0, to, n); });
}

NDArray& NDArray::operator+=(const NDArray& other) {
  combine(*this, other, *this, &Elementwise::add, "add");
  return *this;
}

NDArray& NDArray::operator-=(const NDArray& other) {
  combine(*this, other, *this, &Elementwise::subtract, "subtract");
  return *this;
}

NDArray& NDArray::operator*=(float factor) {
  scale(*this, factor, *this);
  return *this;
}

NDArray operator+(const NDArray& a, const NDArray& b) { return NDArray::combined(a, b, &Elementwise::add, "add"); }

NDArray operator-(const NDArray& a, const NDArray& b) {
  return NDArray::combined(a, b, &Elementwise::subtract, "subtract");
}

NDArray operator*(const NDArray& a, const NDArray& b) {
  return NDArray::combined(a, b, &Elementwise::multiply, "multiply");
}

NDArray operator*(const NDArray& a, float factor) {
  check_operands(a, a, "multiply");
  NDArray out = NDArray::zeros(a.context(), a.shape(), a.dtype(), a.device());
  NDArray::scale(a, factor, out);
  return out;
}

void NDArray::assign(std::span<const float> values) {
  check_present(*this, "assign");
  COHORT_CHECK(static_cast<std::int64_t>(values.size()) == count(), "assign: {} values for an array of shape {}",
               values.size(), to_string(shape_));
  wait_to_write();
  convert_elements(view_of(values.data(), count()), {location(), count(), dtype_});
  bump_version();
}

std::vector<float> NDArray::values() const {
  check_present(*this, "values");
  wait_to_read();
  std::vector<float> out(static_cast<std::size_t>(count()));
  convert_elements({location(), count(), dtype_}, view_of(out.data(), count()));
  return out;
}

void NDArray::wait_to_read() const {
  check_present(*this, "wait_to_read");
  if (buffer_->pending()) context_->wait_to_read(buffer_);
}

void NDArray::wait_to_write() const {
  check_present(*this, "wait_to_write");
  if (buffer_->pending()) context_->wait_to_write(buffer_);
}

std::byte* NDArray::raw_data() const {
  wait_to_write();
  return static_cast<std::byte*>(location());
}

float* NDArray::data() const {
  COHORT_CHECK(dtype_ == DType::f32, "an array of {} was used as float32", to_string(dtype_));
  return reinterpret_cast<float*>(raw_data());
}

}  // namespace cohort
