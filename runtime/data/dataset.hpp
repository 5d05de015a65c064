// A data set that is in memory: samples of one shape and their labels.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/base/shape.hpp"

namespace cohort {

class Dataset {
 public:
  virtual ~Dataset() = default;
  // "MNIST in ../data/mnist", "built-in digits".
  virtual const std::string& description() const = 0;
  virtual std::int64_t count() const = 0;
  // Of one sample: (channels, height, width).
  virtual const Shape& sample_shape() const = 0;
  // Labels are 0 to classes()-1.
  virtual int classes() const = 0;
  virtual int label(std::int64_t index) const = 0;
  // Where the labels come from: a file, or what description() says.
  virtual const std::string& label_source() const { return description(); }
  // Writes the sample's values times `scale` and its label. Thread-safe.
  virtual void read(std::int64_t index, float scale, std::span<float> values, float& label) const = 0;
  // A hint that read(index) comes soon, so that memory is already on its way.
  virtual void will_read(std::int64_t /*index*/) const {}
};

struct DatasetPair {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> validation;
};

// The standard idx files of a directory (train-images-idx3-ubyte, ... also .gz, also .idx3-ubyte). Throws Error(usage)
// with the file and what is wrong.
DatasetPair open_idx_directory(const std::string& directory);

// The built-in digits: 28x28, 10 classes, drawn from strokes; a function of seed and index alone. A sample is drawn
// when it is first read, and kept.
DatasetPair make_digits(std::int64_t train_count = 60000, std::int64_t validation_count = 10000,
                        std::uint64_t seed = 0);

// A network with `outputs` outputs can only train on labels below: throws Error(usage) that names the source of the
// labels, the first that is none and its sample.
void require_labels_below(const Dataset& dataset, std::int64_t outputs);

// The first `count` samples of `whole` (which it owns). Throws Error(usage) where there are fewer.
std::unique_ptr<Dataset> first_samples(std::unique_ptr<Dataset> whole, std::int64_t count);

}  // namespace cohort
