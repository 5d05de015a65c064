// The built-in digits. Only additions, multiplications and divisions of IEEE floats are used, never the C library's
// functions, so that the pixels are the same on every machine.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>

#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "runtime/data/dataset.hpp"
#include "runtime/data/digit_strokes.hpp"
#include "runtime/data/pixels.hpp"

namespace cohort {
namespace {

constexpr int side = 28;
constexpr std::size_t pixels = side * side;
constexpr int digit_classes = 10;

struct Point {
  float x, y;
};

// One sample's random numbers, taken in a fixed order.
class Draws {
 public:
  explicit Draws(const RandomStream& stream) : stream_(stream) {}

  std::uint32_t word() {
    if (used_ == words_.size()) {
      words_ = stream_.words(counter_++);
      used_ = 0;
    }
    return words_[used_++];
  }
  float between(float low, float high) { return low + (high - low) * static_cast<float>(word() >> 8) * 0x1p-24F; }
  // Bell-shaped around 0, within [-width, width].
  float around_zero(float width) {
    const std::uint32_t bits = word();
    const auto sum = static_cast<int>(bits & 0xFFFF) + static_cast<int>(bits >> 16) - 0xFFFF;
    return width * static_cast<float>(sum) * (1.0F / 65535.0F);
  }
  int below(int bound) { return static_cast<int>((static_cast<std::uint64_t>(word()) * bound) >> 32); }

 private:
  RandomStream stream_;
  std::array<std::uint32_t, 4> words_{};
  std::size_t used_ = 4;
  std::uint64_t counter_ = 0;
};

// From a stroke table's points to pixels: a bend (offsets on a grid, interpolated, so that strokes that meet stay
// joined), then rotation, shear, scale and shift.
class Distortion {
 public:
  explicit Distortion(Draws& draws) {
    for (Point& offset : bend_) offset = {draws.around_zero(bend), draws.around_zero(bend)};
    // Sine and cosine of twice the angle whose tangent is t.
    const float t = draws.around_zero(half_turn);
    const float cosine = (1 - t * t) / (1 + t * t);
    const float sine = 2 * t / (1 + t * t);
    const float shear = draws.around_zero(slant) - typical_slant;
    const float height = draws.between(16.0F, 22.0F);
    const float width = height * draws.between(0.75F, 1.15F);
    xx_ = cosine * width;
    xy_ = (cosine * shear - sine) * height;
    yx_ = sine * width;
    yy_ = (sine * shear + cosine) * height;
    centre_ = {0.5F * side + draws.around_zero(shift), 0.5F * side + draws.around_zero(shift)};
  }

  Point operator()(StrokePoint from) const {
    const Point offset = bend_at(0.01F * from.x, 0.01F * from.y);
    const float x = 0.01F * from.x + offset.x;
    const float y = 0.01F * from.y + offset.y;
    return {centre_.x + xx_ * x + xy_ * y, centre_.y + yx_ * x + yy_ * y};
  }

 private:
  static constexpr int grid = 4;  // nodes per direction, over [-0.5, 0.5]
  static constexpr float bend = 0.16F;
  static constexpr float half_turn = 0.19F;
  static constexpr float slant = 0.35F;
  static constexpr float typical_slant = 0.1F;
  static constexpr float shift = 3.4F;

  Point bend_at(float x, float y) const {
    const float column = std::clamp((x + 0.5F) * (grid - 1), 0.0F, grid - 1.001F);
    const float row = std::clamp((y + 0.5F) * (grid - 1), 0.0F, grid - 1.001F);
    const int c = static_cast<int>(column);
    const int r = static_cast<int>(row);
    const float u = column - static_cast<float>(c);
    const float v = row - static_cast<float>(r);
    const Point* node = &bend_[r * grid + c];
    const auto mix = [u, v](float a, float b, float below_a, float below_b) {
      return (1 - v) * ((1 - u) * a + u * b) + v * ((1 - u) * below_a + u * below_b);
    };
    return {mix(node[0].x, node[1].x, node[grid].x, node[grid + 1].x),
            mix(node[0].y, node[1].y, node[grid].y, node[grid + 1].y)};
  }

  std::array<Point, grid * grid> bend_;
  float xx_, xy_, yx_, yy_;
  Point centre_;
};

// Squared distances of all pixel centres to the nearest line of the pen, where that is within reach of its ink.
class Canvas {
 public:
  explicit Canvas(float reach) : reach_(reach) { distance2_.fill(reach * reach); }

  void line(Point from, Point to) {
    const int left = first_pixel(std::min(from.x, to.x)), right = last_pixel(std::max(from.x, to.x));
    const int top = first_pixel(std::min(from.y, to.y)), bottom = last_pixel(std::max(from.y, to.y));
    const float dx = to.x - from.x, dy = to.y - from.y;
    const float length2 = dx * dx + dy * dy;
    const float inverse = length2 > 0 ? 1 / length2 : 0;
    for (int row = top; row <= bottom; ++row) {
      const float y = static_cast<float>(row) + 0.5F - from.y;
      float* distances = &distance2_[static_cast<std::size_t>(row) * side];
      for (int column = left; column <= right; ++column) {
        const float x = static_cast<float>(column) + 0.5F - from.x;
        const float along = std::min(std::max((x * dx + y * dy) * inverse, 0.0F), 1.0F);
        const float away_x = x - along * dx, away_y = y - along * dy;
        distances[column] = std::min(distances[column], away_x * away_x + away_y * away_y);
      }
    }
  }

  std::span<const float> row(int row) const { return {&distance2_[static_cast<std::size_t>(row) * side], side}; }

 private:
  int first_pixel(float low) const { return std::max(static_cast<int>(low - reach_), 0); }
  int last_pixel(float high) const { return std::min(static_cast<int>(high + reach_), side - 1); }

  float reach_;
  std::array<float, pixels> distance2_;
};

// The stroke's points after distortion, joined by lines or by curves through them (Catmull-Rom).
void draw_stroke(const Stroke& stroke, const Distortion& distort, Canvas& canvas) {
  constexpr int pieces = 3;  // lines per curve
  std::array<Point, Stroke::max_points> points;
  for (std::size_t i = 0; i < stroke.count; ++i) points[i] = distort(stroke.points[i]);
  for (std::size_t i = 0; i + 1 < stroke.count; ++i) {
    const Point b = points[i], c = points[i + 1];
    if (!stroke.smooth) {
      canvas.line(b, c);
      continue;
    }
    const Point a = i > 0 ? points[i - 1] : b, d = i + 2 < stroke.count ? points[i + 2] : c;
    const auto at = [](float p, float q, float r, float s, float t) {
      return q + 0.5F * t * (r - p + t * (2 * p - 5 * q + 4 * r - s + t * (3 * (q - r) + s - p)));
    };
    Point from = b;
    for (int piece = 1; piece <= pieces; ++piece) {
      const float t = static_cast<float>(piece) / pieces;
      const Point to = {at(a.x, b.x, c.x, d.x, t), at(a.y, b.y, c.y, d.y, t)};
      canvas.line(from, to);
      from = to;
    }
  }
}

// Ink within `inner` of the pen's lines, none beyond `reach`, and grains of noise.
void develop(const Canvas& canvas, float inner, float reach, Draws& draws, std::uint8_t* image) {
  const float ink = draws.between(150, 270);
  const float grain = draws.between(0, 30) / 127.5F;
  const float slope = ink / (reach * reach - inner * inner);
  for (int row = 0; row < side; ++row) {
    std::array<std::uint8_t, side> noise;
    for (std::size_t i = 0; i < side; i += 4) {
      const std::uint32_t word = draws.word();
      for (std::size_t byte = 0; byte < 4; ++byte) noise[i + byte] = static_cast<std::uint8_t>(word >> (8 * byte));
    }
    const float* distance2 = canvas.row(row).data();
    for (int column = 0; column < side; ++column) {
      const float grey = std::min(slope * (reach * reach - distance2[column]), ink) +
                         grain * (static_cast<float>(noise[column]) - 127.5F);
      image[row * side + column] = static_cast<std::uint8_t>(static_cast<int>(std::min(std::max(grey, 0.0F), 255.0F)));
    }
  }
}

void draw_digit(int digit, Draws draws, std::uint8_t* image) {
  const auto forms = glyphs_of(digit);
  const Glyph& glyph = forms[static_cast<std::size_t>(draws.below(static_cast<int>(forms.size())))];
  const Distortion distort(draws);
  const float radius = draws.between(0.7F, 1.9F);
  const float edge = draws.between(0.4F, 0.7F);  // half the width of the transition from ink to paper
  Canvas canvas(radius + edge);
  for (const Stroke& stroke : glyph.strokes) draw_stroke(stroke, distort, canvas);
  develop(canvas, radius - edge, radius + edge, draws, image);
}

class Digits final : public Dataset {
 public:
  Digits(std::string purpose, std::int64_t count, std::uint64_t seed)
      : purpose_(std::move(purpose)),
        count_(count),
        seed_(seed),
        samples_(std::make_unique_for_overwrite<Sample[]>(static_cast<std::size_t>(count))),
        states_(std::make_unique<std::atomic<State>[]>(static_cast<std::size_t>(count))) {}

  const std::string& description() const override { return description_; }
  std::int64_t count() const override { return count_; }
  const Shape& sample_shape() const override { return shape_; }
  int classes() const override { return digit_classes; }
  int label(std::int64_t index) const override {
    COHORT_CHECK(index >= 0 && index < count_, "digit {} of {}", index, count_);
    return digit_of(index);
  }

  void read(std::int64_t index, float scale, std::span<float> values, float& label) const override {
    COHORT_CHECK(index >= 0 && index < count_, "digit {} of {}", index, count_);
    const auto at = static_cast<std::size_t>(index);
    State found = states_[at].load(std::memory_order_acquire);
    if (found == State::absent && states_[at].compare_exchange_strong(found, State::drawing)) {
      samples_[at] = draw(index);
      states_[at].store(State::ready, std::memory_order_release);
      found = State::ready;
    }
    if (found == State::ready) return hand_out(samples_[at], scale, values, label);
    hand_out(draw(index), scale, values, label);  // another thread is at it: cheaper than waiting
  }

  void will_read(std::int64_t index) const override { prefetch_bytes(samples_[static_cast<std::size_t>(index)].image); }

 private:
  enum class State : std::uint8_t { absent, drawing, ready };
  struct Sample {
    std::array<std::uint8_t, pixels> image;
    std::uint8_t digit;
  };

  static void hand_out(const Sample& sample, float scale, std::span<float> values, float& label) {
    scale_bytes(sample.image, scale, values);
    label = sample.digit;
  }

  Sample draw(std::int64_t index) const {
    Sample sample;
    sample.digit = static_cast<std::uint8_t>(digit_of(index));
    draw_digit(sample.digit, Draws(RandomStream(seed_, purpose_, static_cast<std::uint64_t>(index))),
               sample.image.data());
    return sample;
  }

  // Ten samples in a row hold every digit once, so that any number of first samples is balanced.
  int digit_of(std::int64_t index) const {
    const RandomStream order(seed_, purpose_ + " order", static_cast<std::uint64_t>(index / digit_classes));
    std::array<int, digit_classes> digits;
    std::iota(digits.begin(), digits.end(), 0);
    for (int last = digit_classes - 1; last > 0; --last)
      std::swap(digits[last], digits[order.below(static_cast<std::uint64_t>(last) + 1, last)]);
    return digits[static_cast<std::size_t>(index % digit_classes)];
  }

  std::string description_ = "built-in digits";
  std::string purpose_;
  std::int64_t count_;
  std::uint64_t seed_;
  Shape shape_{1, side, side};
  std::unique_ptr<Sample[]> samples_;  // memory is touched only when a sample is drawn
  std::unique_ptr<std::atomic<State>[]> states_;
};

}  // namespace

DatasetPair make_digits(std::int64_t train_count, std::int64_t validation_count, std::uint64_t seed) {
  COHORT_CHECK(train_count >= 0 && validation_count >= 0, "digits: {} and {} samples", train_count, validation_count);
  return {std::make_unique<Digits>("digits train", train_count, seed),
          std::make_unique<Digits>("digits validation", validation_count, seed)};
}

}  // namespace cohort
