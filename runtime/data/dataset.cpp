#include "runtime/data/dataset.hpp"

#include <utility>

#include "kernels/base/error.hpp"

namespace cohort {
namespace {

class FirstSamples final : public Dataset {
 public:
  FirstSamples(std::unique_ptr<Dataset> whole, std::int64_t count)
      : whole_(std::move(whole)),
        count_(count),
        description_(fmt::format("the first {} samples of {}", count, whole_->description())) {}

  const std::string& description() const override { return description_; }
  std::int64_t count() const override { return count_; }
  const Shape& sample_shape() const override { return whole_->sample_shape(); }
  int classes() const override { return whole_->classes(); }
  int label(std::int64_t index) const override {
    COHORT_CHECK(index >= 0 && index < count_, "sample {} of {}", index, count_);
    return whole_->label(index);
  }
  const std::string& label_source() const override { return whole_->label_source(); }

  void read(std::int64_t index, float scale, std::span<float> values, float& label) const override {
    COHORT_CHECK(index >= 0 && index < count_, "sample {} of {}", index, count_);
    whole_->read(index, scale, values, label);
  }

  void will_read(std::int64_t index) const override { whole_->will_read(index); }

 private:
  std::unique_ptr<Dataset> whole_;
  std::int64_t count_;
  std::string description_;
};

}  // namespace

void require_labels_below(const Dataset& dataset, std::int64_t outputs) {
  if (dataset.classes() <= outputs) return;
  for (std::int64_t i = 0; i < dataset.count(); ++i)
    if (const int label = dataset.label(i); label >= outputs)
      throw_usage("{}: sample {} has label {}, but the network has {} outputs", dataset.label_source(), i, label,
                  outputs);
}

std::unique_ptr<Dataset> first_samples(std::unique_ptr<Dataset> whole, std::int64_t count) {
  if (count < 1 || count > whole->count())
    throw_usage("--num-examples {}: {} has {} samples", count, whole->description(), whole->count());
  if (count == whole->count()) return whole;
  return std::make_unique<FirstSamples>(std::move(whole), count);
}

}  // namespace cohort
