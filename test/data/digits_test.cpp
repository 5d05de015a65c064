// The built-in digits: the same everywhere, balanced, and neither too easy nor drawn twice.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/data/dataset.hpp"
#include "test/support/catch.hpp"

using cohort::Dataset;
using cohort::DatasetPair;
using cohort::make_digits;
using cohort::Shape;

namespace {

constexpr std::size_t pixels = 28 * 28;

struct Sample {
  std::vector<float> values = std::vector<float>(pixels);
  float label = -1;

  bool operator==(const Sample&) const = default;
};

Sample read(const Dataset& set, std::int64_t index, float scale = 1) {
  Sample sample;
  set.read(index, scale, sample.values, sample.label);
  return sample;
}

// FNV-1a over labels and pixels.
std::uint64_t hash_of(const Dataset& set, std::int64_t count) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&hash](float value) { hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001b3; };
  for (std::int64_t i = 0; i < count; ++i) {
    const Sample sample = read(set, i);
    add(sample.label);
    for (const float value : sample.values) add(value);
  }
  return hash;
}

// Softmax regression, trained sample by sample.
class LinearModel {
 public:
  void train(const Sample& sample, float rate) {
    std::array<float, 10> slope = scores(sample);
    const float highest = *std::max_element(slope.begin(), slope.end());
    float sum = 0;
    for (float& value : slope) sum += value = std::exp(value - highest);
    for (std::size_t k = 0; k < 10; ++k) {
      const float step = rate * (slope[k] / sum - (sample.label == static_cast<float>(k) ? 1.0F : 0.0F));
      for (std::size_t i = 0; i < pixels; ++i) weights_[k][i] -= step * sample.values[i];
      bias_[k] -= step;
    }
  }

  bool right(const Sample& sample) const {
    const std::array<float, 10> score = scores(sample);
    return static_cast<float>(std::max_element(score.begin(), score.end()) - score.begin()) == sample.label;
  }

 private:
  std::array<float, 10> scores(const Sample& sample) const {
    std::array<float, 10> score = bias_;
    for (std::size_t k = 0; k < 10; ++k)
      for (std::size_t i = 0; i < pixels; ++i) score[k] += weights_[k][i] * sample.values[i];
    return score;
  }

  std::array<std::array<float, pixels>, 10> weights_{};
  std::array<float, 10> bias_{};
};

}  // namespace

TEST_CASE("digits, shape and size") {
  const DatasetPair pair = make_digits();
  CHECK(pair.train->count() == 60000);
  CHECK(pair.validation->count() == 10000);
  CHECK(pair.train->sample_shape() == Shape{1, 28, 28});
  CHECK(pair.train->classes() == 10);
  CHECK(pair.train->description() == "built-in digits");
}

TEST_CASE("digits, labels are known without drawing, and one beyond a network's classes is named") {
  const DatasetPair pair = make_digits(20, 20);
  std::vector<float> values(784);
  std::int64_t first_nine = 20;
  for (std::int64_t i = 19; i >= 0; --i) {
    float label = -1;
    pair.train->read(i, 1, values, label);
    CHECK(label == static_cast<float>(pair.train->label(i)));
    if (label == 9) first_nine = i;
  }
  CHECK_NOTHROW(cohort::require_labels_below(*pair.train, 10));
  CHECK_THROWS_WITH(
      cohort::require_labels_below(*pair.train, 9),
      "built-in digits: sample " + std::to_string(first_nine) + " has label 9, but the network has 9 outputs");
}

TEST_CASE("digits, the pixels never change") {
  const DatasetPair pair = make_digits(1000, 1000);
  CHECK(hash_of(*pair.train, 1000) == 0xe143d5539d1988ca);
  CHECK(hash_of(*pair.validation, 1000) == 0xabe41eb7627ca706);
  CHECK(hash_of(*make_digits(1000, 1000, 1).train, 1000) == 0x7803562309c19a6d);
}

TEST_CASE("digits, a sample depends on seed and index alone") {
  const DatasetPair small = make_digits(20, 20);
  const DatasetPair large = make_digits(200, 200);
  for (std::int64_t i = 19; i >= 0; --i) {
    CHECK(read(*small.train, i) == read(*large.train, i));
    CHECK(read(*small.train, i) == read(*small.train, i));
    CHECK(read(*small.validation, i) == read(*large.validation, i));
  }
  const DatasetPair other = make_digits(20, 20, 7);
  CHECK_FALSE(read(*other.train, 3) == read(*small.train, 3));
}

TEST_CASE("digits, values are scaled") {
  const DatasetPair pair = make_digits(1, 1);
  Sample sample = read(*pair.train, 0);
  for (float& value : sample.values) value *= 0.125F;
  CHECK(read(*pair.train, 0, 0.125F) == sample);
}

TEST_CASE("digits, ten in a row hold every digit once") {
  const DatasetPair pair = make_digits(200, 200);
  for (const Dataset* set : {pair.train.get(), pair.validation.get()})
    for (std::int64_t first = 0; first < 200; first += 10) {
      std::set<float> labels;
      for (std::int64_t i = first; i < first + 10; ++i) labels.insert(read(*set, i).label);
      CHECK(labels == std::set<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    }
}

TEST_CASE("digits, no sample occurs twice, in neither set") {
  const DatasetPair pair = make_digits(5000, 5000);
  std::set<std::vector<float>> images;
  for (const Dataset* set : {pair.train.get(), pair.validation.get()})
    for (std::int64_t i = 0; i < set->count(); ++i) images.insert(read(*set, i).values);
  CHECK(images.size() == 10000);
}

TEST_CASE("digits, can be read by several threads") {
  const DatasetPair shared = make_digits(500, 1);
  std::vector<std::vector<Sample>> read_by(3);
  std::vector<std::thread> threads;
  threads.reserve(read_by.size());
  for (std::vector<Sample>& samples : read_by)
    threads.emplace_back([&samples, &shared] {
      for (std::int64_t i = 0; i < 500; ++i) samples.push_back(read(*shared.train, i));
    });
  for (std::thread& thread : threads) thread.join();
  const DatasetPair alone = make_digits(500, 1);
  for (const std::vector<Sample>& samples : read_by)
    for (std::int64_t i = 0; i < 500; ++i) REQUIRE(samples[static_cast<std::size_t>(i)] == read(*alone.train, i));
}

// A network has something to gain over a linear model, and a linear model learns.
TEST_CASE("digits, a linear model stays between 75 and 95 percent") {
  const DatasetPair pair = make_digits(10000, 2000);
  LinearModel model;
  for (int pass = 0; pass < 4; ++pass)
    for (std::int64_t i = 0; i < pair.train->count(); ++i) model.train(read(*pair.train, i, 1.0F / 255), 0.01F);
  int right = 0;
  for (std::int64_t i = 0; i < pair.validation->count(); ++i)
    right += model.right(read(*pair.validation, i, 1.0F / 255));
  INFO(right << " of 2000 right");
  CHECK(right > 1500);
  CHECK(right < 1900);
}
