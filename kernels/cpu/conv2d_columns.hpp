// A convolution whose gradients are matrix products over columns (columns.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/base/buffer.hpp"
#include "kernels/conv2d.hpp"

namespace cohort::cpu {

// One group and no padding only, made for training; the forward pass is `forward`'s. Each thread of the team takes a
// range of images; weight and bias gradients are summed over the ranges in their order.
class ColumnConv2d final : public Conv2d {
 public:
  ColumnConv2d(const Conv2dSpec& spec, std::unique_ptr<Conv2d> forward);

  void forward(const float* data, Parameter weight, const float* bias, float* out) override {
    forward_->forward(data, weight, bias, out);
  }
  void backward_data(const float* out_grad, Parameter weight, float* data_grad) override;
  void backward_weights(const float* data, const float* out_grad, float* weight_grad, float* bias_grad) override;

 private:
  struct Workspace {  // of one thread, in memory_
    std::span<float> columns;
    std::span<float> weight_grad;  // (filters, columns)
    std::span<float> bias_grad;    // (pixels of a block, filters)
    bool used = false;
    int status = 0;  // the first failure of a matrix product; thrown outside the parallel region
  };

  template <class Body>
  void over_blocks(const Body& body);
  const float* ordered_weight(Parameter weight);
  void collect_weight_grad(float* weight_grad);
  void collect_bias_grad(float* bias_grad);

  Conv2dSpec spec_;
  std::unique_ptr<Conv2d> forward_;
  std::int64_t pixels_;      // of an output image
  std::int64_t columns_;     // floats of a row
  std::int64_t block_;       // images of one matrix product
  std::span<float> weight_;  // in memory_, in the order of columns; empty where that is the parameter's own order
  Parameter ordered_;        // what `weight_` was made from
  std::shared_ptr<Buffer> memory_;
  std::vector<Workspace> workspaces_;
};

}  // namespace cohort::cpu
