#include "runtime/optim/initializer_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "kernels/base/error.hpp"

namespace cohort {
namespace {

// Elements 4k to 4k+3 come from the four words of counter k: one block of the generator feeds four elements.
template <class Draw>
void fill_by_fours(std::span<float> values, const RandomStream& stream, Draw draw) {
  for (std::size_t begin = 0; begin < values.size(); begin += 4) {
    const std::array<float, 4> drawn = draw(stream.words(begin / 4));
    std::copy_n(drawn.begin(), std::min<std::size_t>(4, values.size() - begin), values.begin() + begin);
  }
}

using Words = std::array<std::uint32_t, 4>;

void draw_uniform(std::span<float> values, const RandomStream& stream, double scale) {
  fill_by_fours(values, stream, [scale](const Words& words) {
    std::array<float, 4> drawn{};
    for (std::size_t i = 0; i < 4; ++i) drawn[i] = static_cast<float>(scale * (2 * (words[i] >> 8) * 0x1p-24 - 1));
    return drawn;
  });
}

// Two Box-Muller pairs: the radius from words 0 and 2, the angle from words 1 and 3.
void draw_normal(std::span<float> values, const RandomStream& stream, double sigma) {
  fill_by_fours(values, stream, [sigma](const Words& words) {
    std::array<float, 4> drawn{};
    for (std::size_t i = 0; i < 4; i += 2) {
      const double radius = sigma * std::sqrt(-2 * std::log((words[i] + 1.0) * 0x1p-32));
      const double angle = 2 * std::numbers::pi * (words[i + 1] * 0x1p-32);
      drawn[i] = static_cast<float>(radius * std::cos(angle));
      drawn[i + 1] = static_cast<float>(radius * std::sin(angle));
    }
    return drawn;
  });
}

struct XavierRule {
  std::string random;
  std::string factor;
  double magnitude;
};

double fan(const Shape& shape, const std::string& factor) {
  if (shape.rank() < 2) throw_usage("Xavier needs a shape of 2 axes or more, not {}", to_string(shape));
  double window = 1;
  for (std::size_t axis = 2; axis < shape.rank(); ++axis) window *= static_cast<double>(shape[axis]);
  const double in = static_cast<double>(shape[1]) * window;
  const double out = static_cast<double>(shape[0]) * window;
  if (factor == "avg") return (in + out) / 2;
  if (factor == "in") return in;
  if (factor == "out") return out;
  throw_usage("factor_type '{}' is none of avg, in, out", factor);
}

void draw_xavier(std::span<float> values, const Shape& shape, const RandomStream& stream, const XavierRule& rule) {
  if (rule.magnitude < 0) throw_usage("magnitude {}: must be at least 0", rule.magnitude);
  const double scale = std::sqrt(rule.magnitude / fan(shape, rule.factor));
  if (rule.random == "uniform") return draw_uniform(values, stream, scale);
  if (rule.random == "gaussian") return draw_normal(values, stream, scale);
  throw_usage("rnd_type '{}' is neither uniform nor gaussian", rule.random);
}

}  // namespace

void fill_xavier(std::span<float> values, const Shape& shape, const RandomStream& stream,
                 InitializerArguments& arguments) {
  draw_xavier(values, shape, stream,
              {arguments.take("rnd_type", "uniform"), arguments.take("factor_type", "avg"),
               arguments.take_number("magnitude", 3)});
}

void fill_default(std::span<float> values, const Shape& shape, const RandomStream& stream, InitializerArguments&) {
  draw_xavier(values, shape, stream, {"gaussian", "in", 2});
}

void fill_msra(std::span<float> values, const Shape& shape, const RandomStream& stream,
               InitializerArguments& arguments) {
  const double slope = arguments.take_number("slope", 0.25);
  draw_xavier(values, shape, stream, {"gaussian", arguments.take("factor_type", "avg"), 2 / (1 + slope * slope)});
}

void fill_normal(std::span<float> values, const Shape&, const RandomStream& stream, InitializerArguments& arguments) {
  const double sigma = arguments.take_number("sigma", 0.01);
  if (sigma < 0) throw_usage("sigma {}: must be at least 0", sigma);
  draw_normal(values, stream, sigma);
}

void fill_uniform(std::span<float> values, const Shape&, const RandomStream& stream, InitializerArguments& arguments) {
  draw_uniform(values, stream, arguments.take_number("scale", 0.07));
}

void fill_constant(std::span<float> values, const Shape&, const RandomStream&, InitializerArguments& arguments) {
  if (!arguments.has("value")) throw_usage("initializer constant needs a value: [\"constant\", {{\"value\": 0.5}}]");
  std::fill(values.begin(), values.end(), static_cast<float>(arguments.take_number("value", 0)));
}

void fill_one(std::span<float> values, const Shape&, const RandomStream&, InitializerArguments&) {
  std::fill(values.begin(), values.end(), 1.0f);
}

void fill_zero(std::span<float> values, const Shape&, const RandomStream&, InitializerArguments&) {
  std::fill(values.begin(), values.end(), 0.0f);
}

}  // namespace cohort
