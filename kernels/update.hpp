// The store's update pass: sum the contributions of all ranks in rank order and update the weights, in one pass.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace cohort {

// Numbers of one pass over one key, already multiplied by the key's lr_mult and wd_mult.
struct UpdateStep {
  float learning_rate = 0;
  float weight_decay = 0;
  float rescale = 1;         // multiplies the summed gradient
  float clip_gradient = -1;  // off when < 0
  float momentum = 0;
  std::uint64_t count = 1;  // number of this update of this key, from 1
};

// A slice of one key. `contributions` are the gradients in rank order, at least one; each is added to the sum of those
// before it, in float32, so every slicing gives the same bits. `states` has the optimizer's state arrays. All pointers
// cover `elements` and address the same element of their arrays.
struct UpdateSlice {
  std::span<const float* const> contributions;
  float* weight = nullptr;
  std::span<float* const> states;
  std::int64_t elements = 0;
};

// One optimizer's element-wise arithmetic. Stateless and thread-safe; a call allocates nothing and shares a long slice
// out among the compute threads. Bits do not depend on alignment, slice boundaries, threads or the instruction set.
class UpdateKernel {
 public:
  virtual ~UpdateKernel() = default;
  virtual int state_count(const UpdateStep& step) const = 0;
  virtual void run(const UpdateSlice& slice, const UpdateStep& step) const = 0;
};

// Rows: "assign" (weight = sum), "sgd" (with momentum when the step has one), "test" (weight += rescale * sum).
// Throws Error(usage) listing the rows when the name is none.
std::unique_ptr<UpdateKernel> make_cpu_update(std::string_view name);

}  // namespace cohort
