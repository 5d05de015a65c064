// How people write the ten digits: the strokes from which the built-in digits are drawn.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cohort {

// Hundredths of a digit's height, from its centre; x to the right, y down.
struct StrokePoint {
  std::int8_t x, y;
};

// One movement of the pen through its points: smooth (rounded through each point) or with corners.
struct Stroke {
  static constexpr std::size_t max_points = 10;

  constexpr Stroke() = default;
  template <std::size_t N>
  constexpr Stroke(bool is_smooth, const StrokePoint (&list)[N]) : smooth(is_smooth), count(N) {
    static_assert(N >= 2 && N <= max_points);
    for (std::size_t i = 0; i < N; ++i) points[i] = list[i];
  }

  bool smooth = false;
  std::size_t count = 0;
  std::array<StrokePoint, max_points> points{};
};

// One way to write a digit; unused strokes have no points.
struct Glyph {
  static constexpr std::size_t max_strokes = 3;

  int digit = 0;
  std::array<Stroke, max_strokes> strokes;
};

// The ways to write `digit` (0 to 9), at least one.
std::span<const Glyph> glyphs_of(int digit);

}  // namespace cohort
