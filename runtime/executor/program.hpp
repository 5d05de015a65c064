// A plan bound to memory: flat arrays of prepared calls, run step by step.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/executor/plan.hpp"
#include "runtime/ndarray/ndarray.hpp"

namespace cohort {

// Arrays that the storages of a plan refer to, by Storage::index.
struct BoundArrays {
  std::vector<NDArray> arguments;
  std::vector<NDArray> auxiliary;
  std::vector<NDArray> gradients;  // none where nothing was asked for
  std::vector<NDArray> outputs;
};

// Neither copies nor moves: calls point into its own arrays.
class Program {
 public:
  Program(StepPlan plan, const BoundArrays& arrays);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The block that planned storages live in.
  void place(std::byte* block);

  void forward(bool train);
  // `head_gradients`: an address per head, null where nothing reads it. `ready` is called with 0, 1, 2, ... as
  // gradients become ready.
  void backward(std::span<const float* const> head_gradients, const std::function<void(std::size_t)>& ready);

  const StepPlan& plan() const { return plan_; }

 private:
  // A read of a bound array: waits for its writers and takes its version.
  struct BoundRead {
    Buffer* buffer = nullptr;
    Parameter* slot = nullptr;  // null: no kernel asks for the version
  };
  struct Step {
    OperatorKernel* kernel = nullptr;
    ForwardCall forward = {};
    BackwardCall backward = {};
    std::span<const BoundRead> reads = {};
    std::span<Buffer* const> writes = {};
    std::size_t ready = 0;  // gradients ready once it is done
  };
  // Slots of one kind for all steps, with the values that they show.
  template <class T>
  struct Slots {
    std::vector<T> memory;
    std::vector<int> values;
    std::span<T> add(const std::vector<int>& added);
  };

  void reserve();
  Step bind(const PlannedStep& planned);
  void* address(int value) const;
  Buffer* buffer_of(int value) const;
  const NDArray* array_of(const Storage& storage) const;
  void begin(const Step& step) const;
  void end(const Step& step) const;

  StepPlan plan_;
  const BoundArrays& arrays_;
  std::byte* block_ = nullptr;
  std::vector<const float*> head_gradients_;
  std::vector<Step> forward_;
  std::vector<Step> backward_;
  Slots<Parameter> parameters_;
  Slots<const float*> sources_;
  Slots<float*> targets_;
  std::vector<int> workspaces_;  // per step of the plan
  std::vector<BoundRead> reads_;
  std::vector<Buffer*> writes_;
  std::vector<Parameter*> computed_;                       // slots that show values made by this program
  std::vector<std::pair<const float**, int>> head_slots_;  // slots that show head gradients
  std::uint64_t runs_ = 0;
};

}  // namespace cohort
