#include "runtime/data/digit_strokes.hpp"

#include <algorithm>
#include <iterator>

namespace cohort {
namespace {

constexpr bool smooth = true;
constexpr bool corners = false;

// Sorted by digit.
constexpr Glyph glyph_table[] = {
    // An oval; one that is not closed properly.
    {0,
     {Stroke{smooth, {{5, -50}, {-20, -40}, {-32, -8}, {-28, 24}, {-8, 48}, {16, 44}, {31, 12}, {26, -26}, {5, -50}}}}},
    {0,
     {Stroke{smooth,
             {{-4, -46}, {-26, -28}, {-30, 12}, {-14, 46}, {12, 47}, {28, 18}, {26, -20}, {8, -46}, {-14, -44}}}}},
    // A bar; with a flag; with flag and foot.
    {1, {Stroke{corners, {{3, -50}, {0, 0}, {-3, 50}}}}},
    {1, {Stroke{corners, {{-17, -30}, {4, -50}, {2, 50}}}}},
    {1, {Stroke{corners, {{-17, -32}, {2, -50}, {2, 49}}}, Stroke{corners, {{-22, 49}, {24, 49}}}}},
    // Angular foot; with a loop.
    {2,
     {Stroke{smooth, {{-28, -28}, {-16, -46}, {6, -50}, {25, -36}, {24, -12}, {4, 14}, {-16, 34}, {-31, 48}}},
      Stroke{corners, {{-31, 48}, {33, 46}}}}},
    {2,
     {Stroke{
         smooth,
         {{-27, -34}, {2, -50}, {25, -34}, {18, -2}, {-8, 32}, {-26, 44}, {-28, 30}, {-12, 28}, {8, 45}, {34, 42}}}}},
    // Two bows; the upper one flat.
    {3,
     {Stroke{smooth, {{-25, -40}, {-4, -50}, {20, -42}, {20, -18}, {-6, -3}}},
      Stroke{smooth, {{-6, -3}, {22, 4}, {29, 26}, {10, 47}, {-12, 49}, {-29, 37}}}}},
    {3,
     {Stroke{corners, {{-25, -49}, {25, -48}, {-2, -12}}},
      Stroke{smooth, {{-2, -12}, {22, 2}, {28, 26}, {8, 48}, {-14, 48}, {-28, 36}}}}},
    // Open at the top; closed.
    {4, {Stroke{corners, {{-20, -48}, {-29, 4}, {30, 3}}}, Stroke{corners, {{16, -40}, {14, 4}, {10, 50}}}}},
    {4, {Stroke{corners, {{14, -50}, {-32, 13}, {33, 13}}}, Stroke{corners, {{14, -50}, {14, 50}}}}},
    // In one go; with a rounded body.
    {5,
     {Stroke{corners, {{26, -49}, {-19, -48}, {-23, -8}}},
      Stroke{smooth, {{-23, -8}, {4, -15}, {26, 4}, {26, 30}, {4, 48}, {-28, 42}}}}},
    {5,
     {Stroke{corners, {{-16, -46}, {31, -50}}},
      Stroke{smooth, {{-16, -46}, {-22, -18}, {-4, -10}, {20, 2}, {22, 28}, {2, 48}, {-26, 44}}}}},
    // A bow with a belly; a slant with a small loop.
    {6, {Stroke{smooth, {{20, -49}, {-8, -34}, {-27, 4}, {-24, 36}, {2, 50}, {25, 34}, {20, 8}, {-2, 2}, {-24, 20}}}}},
    {6,
     {Stroke{smooth, {{8, -50}, {-14, -20}, {-26, 18}, {-18, 44}, {4, 48}, {22, 32}, {12, 14}, {-6, 18}, {-20, 36}}}}},
    // Plain; with a bar; with a drooping roof.
    {7, {Stroke{corners, {{-30, -46}, {30, -48}, {6, 2}, {-8, 50}}}}},
    {7, {Stroke{corners, {{-30, -46}, {28, -48}, {4, 2}, {-8, 50}}}, Stroke{corners, {{-20, 3}, {26, 0}}}}},
    {7, {Stroke{smooth, {{-30, -34}, {-20, -47}, {6, -44}, {28, -46}, {14, -8}, {4, 22}, {-2, 50}}}}},
    // In one go; two rings.
    {8,
     {Stroke{
         smooth,
         {{22, -38}, {0, -50}, {-20, -34}, {-10, -10}, {14, 8}, {25, 30}, {0, 50}, {-25, 30}, {-8, 4}, {22, -38}}}}},
    {8,
     {Stroke{smooth, {{0, -50}, {-20, -36}, {-16, -12}, {2, -4}, {18, -14}, {20, -36}, {0, -50}}},
      Stroke{smooth, {{2, -4}, {-22, 10}, {-24, 34}, {0, 50}, {24, 36}, {24, 12}, {2, -4}}}}},
    // A ring with a straight back; with a hook.
    {9,
     {Stroke{smooth, {{23, -30}, {6, -50}, {-20, -40}, {-24, -14}, {-2, -2}, {20, -16}, {23, -30}}},
      Stroke{corners, {{23, -30}, {20, 6}, {12, 50}}}}},
    {9,
     {Stroke{smooth, {{22, -32}, {2, -50}, {-22, -36}, {-18, -10}, {6, -6}, {22, -32}}},
      Stroke{smooth, {{22, -32}, {26, 6}, {14, 40}, {-8, 49}, {-24, 42}}}}},
};

}  // namespace

std::span<const Glyph> glyphs_of(int digit) {
  const auto same = [digit](const Glyph& glyph) { return glyph.digit == digit; };
  const Glyph* first = std::find_if(std::begin(glyph_table), std::end(glyph_table), same);
  return {first, std::find_if_not(first, std::end(glyph_table), same)};
}

}  // namespace cohort
