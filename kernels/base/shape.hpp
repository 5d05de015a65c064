// Shapes in logical order (N,C,H,W for images), whatever the layout in memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace cohort {

// An extent of 0 means "not known yet" during shape inference (MXNet's classic mode); a shape without extents means
// "nothing known". Copies and moves.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : extents_(extents) {}
  explicit Shape(std::vector<std::int64_t> extents) : extents_(std::move(extents)) {}

  std::size_t rank() const { return extents_.size(); }
  bool empty() const { return extents_.empty(); }
  std::int64_t operator[](std::size_t axis) const { return extents_[axis]; }
  std::int64_t& operator[](std::size_t axis) { return extents_[axis]; }
  auto begin() const { return extents_.begin(); }
  auto end() const { return extents_.end(); }
  const std::vector<std::int64_t>& extents() const { return extents_; }
  void push_back(std::int64_t extent) { extents_.push_back(extent); }

  // Number of elements; 0 for a shape without extents. The largest number there is where it is larger still.
  std::int64_t count() const;

  // Whether every extent is known.
  bool known() const {
    if (extents_.empty()) return false;
    for (const std::int64_t extent : extents_)
      if (extent <= 0) return false;
    return true;
  }

  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> extents_;
};

// MXNet's text form: "(64, 1, 28, 28)", "(10,)", "()".
std::string to_string(const Shape& shape);

}  // namespace cohort
