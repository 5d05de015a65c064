// Executor: a symbol bound to arrays, with its kernels, its memory plan and its gradient hooks.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/ndarray/ndarray.hpp"
#include "runtime/symbol/symbol.hpp"

namespace cohort {

enum class GradRequest { null, write, add };

// Memory for activations and workspaces that executors of one model share: executors for other batch sizes of the same
// model live in the same blocks, since only one of them runs at a time. Grows to the largest plan.
class ExecutorMemory;
std::shared_ptr<ExecutorMemory> make_executor_memory();

struct BindOptions {
  std::map<std::string, NDArray> arguments;     // every argument, by name
  std::map<std::string, NDArray> gradients;     // a missing one means GradRequest::null
  std::map<std::string, GradRequest> requests;  // `write` where a gradient is given and nothing is said
  std::map<std::string, NDArray> auxiliary;
  bool train = true;                       // false: no backward is planned
  std::shared_ptr<ExecutorMemory> memory;  // null: its own
};

// Runs whole steps inline in the caller's thread (and its OpenMP team). Waits for pending work on a bound array before
// it reads it; writes raise the version. Nothing is allocated after the constructor. Neither copies nor moves.
class Executor {
 public:
  Executor(const Symbol& symbol, Context& context, Device device, const BindOptions& options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Infers shapes from `shapes` (data and label) and allocates zeroed arguments, gradients (but for those named in
  // `shapes`) and auxiliary states.
  static std::unique_ptr<Executor> simple_bind(const Symbol& symbol, Context& context, Device device,
                                               const std::map<std::string, Shape>& shapes, bool train = true);

  // Outputs are the same arrays at every call.
  void forward(bool is_train);
  // Needs a forward(true) before. `out_grads`, one per head, may be empty when every head ignores its head gradient.
  void backward(const std::vector<NDArray>& out_grads = {});

  const std::vector<NDArray>& outputs() const;
  const std::map<std::string, NDArray>& arguments() const;
  const std::map<std::string, NDArray>& gradients() const;
  const std::map<std::string, NDArray>& auxiliary() const;

  // Called in backward as soon as the named argument's gradient is final and its value is not read again in this step
  // (all its uses and their data gradients are done). Every argument with a gradient is reported exactly once a step.
  void on_gradient_ready(std::function<void(std::size_t index)> hook);

  // Bytes of the plan for activations and workspaces, with and without sharing.
  std::size_t planned_bytes() const;
  std::size_t unshared_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Names of the arguments that get gradients, in the order in which a backward pass makes them ready: a function of the
// graph alone, the same on every rank. `without` names the arguments that get none (data, label). The hook's `index`
// counts in this order.
std::vector<std::string> gradient_order(const Symbol& symbol, const std::vector<std::string>& without);

}  // namespace cohort
