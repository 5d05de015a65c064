// The one definition of an operator: everything that symbols, executors, autograd and imperative calls know about it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/backend.hpp"
#include "kernels/base/shape.hpp"
#include "kernels/base/view.hpp"
#include "kernels/parameter.hpp"
#include "runtime/operators/parameters.hpp"

namespace cohort {

// Memory of one forward call. Auxiliary states are inputs for shapes and names, but come apart here: they are written.
struct ForwardCall {
  std::span<const Parameter> inputs;
  std::span<float* const> outputs;
  std::span<float* const> auxiliary;
  void* workspace = nullptr;  // what backward reads; of workspace_bytes(), null when no backward is planned
};

// Memory of one backward call. Inputs and outputs are null unless the row's backward_reads names them.
struct BackwardCall {
  std::span<const Parameter> inputs;
  std::span<const float* const> outputs;
  std::span<const float* const> out_grads;  // null: nothing flows into that output
  std::span<float* const> in_grads;         // null: not asked for; others are overwritten
  const void* workspace = nullptr;
};

// The kernels of one node, for one set of shapes. A call allocates nothing; one call at a time per object.
class OperatorKernel {
 public:
  virtual ~OperatorKernel() = default;
  // Bytes that a training forward leaves for backward.
  virtual std::size_t workspace_bytes() const { return 0; }
  // The workspace is filled only with `train`. Not called for a view.
  virtual void forward(const ForwardCall& call, bool train);
  // Called for rows whose gradient has the form `kernel`.
  virtual void backward(const BackwardCall& call);
};

// What a node's kernels are made from. Valid during the call.
struct KernelRequest {
  const Backend& backend;
  const Parameters& parameters;
  std::span<const Shape> inputs;
  std::span<const Shape> outputs;
  std::vector<bool> wanted;  // per input: its gradient is asked for
  bool train = true;         // false: backward is never called
};

// Layouts that a node's arrays of rank 4 may have; arrays of other ranks are row-major.
enum class LayoutRule {
  row_major,
  image,  // the first input and every output channels-last, the other inputs row-major
  same,   // every array in one layout, whichever
};

// How the gradients of the inputs come about.
enum class GradientForm {
  none,    // no gradient flows
  kernel,  // by OperatorKernel::backward
  pass,    // each is the gradient of output 0 itself, element by element in memory order
};

struct OutputNames {
  std::vector<std::string> names;  // hidden ones last
  int visible = 1;
};

// What backward reads, given which gradients are asked for.
struct BackwardReads {
  std::vector<int> inputs = {};
  std::vector<int> outputs = {};
  bool workspace = false;
};

// Two arrays of one call that may be the same memory.
struct InplacePair {
  int read = 0;     // forward: input; backward: output whose gradient is read
  int written = 0;  // forward: output; backward: input whose gradient is written
};

// A plain constant: functions, not virtuals, so that the table is data. Functions get parameters that have parsed.
struct OperatorRow {
  std::string_view name;  // as written to files
  std::span<const std::string_view> aliases = {};
  std::string_view hint = {};  // of automatic names; empty: the lower-cased name it was asked for by
  std::span<const ParameterSpec> parameters = {};
  std::string_view count_parameter = {};  // the parameter that says how many inputs there are, where one does

  std::vector<std::string> (*inputs)(const Parameters&) = nullptr;  // auxiliary states last
  int auxiliary = 0;                                                // how many of the inputs are mutated states
  OutputNames (*outputs)(const Parameters&) = nullptr;              // null: one, named "output"

  // Refines shapes in both directions with unify(). Throws Error(usage) on a contradiction, without the node's name.
  void (*infer)(const Parameters&, std::span<Shape> inputs, std::span<Shape> outputs) = nullptr;

  LayoutRule layout = LayoutRule::row_major;
  // Output 0 has the values of input 0 in the same order: it may be the same memory, and `forward` is never called.
  bool view = false;
  // Null where neither forward (a view) nor backward (none, pass) needs one.
  std::unique_ptr<OperatorKernel> (*make)(const KernelRequest&) = nullptr;

  GradientForm gradient = GradientForm::kernel;
  // Inputs that can get a gradient. Null: all but the auxiliary states.
  bool (*differentiable)(const Parameters&, int input) = nullptr;
  BackwardReads (*backward_reads)(const Parameters&, const std::vector<bool>& wanted) = nullptr;  // null: nothing
  // A loss: backward runs without a gradient of its outputs. Null: no.
  bool (*ignores_head_gradient)(const Parameters&) = nullptr;
  std::span<const InplacePair> inplace_forward = {};
  std::span<const InplacePair> inplace_backward = {};

  // The questions above with their defaults filled in.
  Parameters parse(const std::map<std::string, std::string>& attributes) const;
  OutputNames output_names(const Parameters& parameters) const;
  bool gradient_reaches(const Parameters& parameters, int input, int input_count) const;
  BackwardReads reads_for_backward(const Parameters& parameters, const std::vector<bool>& wanted) const;
  bool is_loss(const Parameters& parameters) const;
};

// Every operator, by name.
std::span<const OperatorRow* const> operator_table();
// By name or alias; null when there is none.
const OperatorRow* find_operator(std::string_view name);
// Likewise, but throws Error(usage) that says where the list is.
const OperatorRow& operator_named(std::string_view name);

// Merges what is known of one shape into another, extent by extent. Throws Error(usage) with `what` and both shapes.
void unify(Shape& target, const Shape& known, std::string_view what);
// All shapes are one.
void unify_all(std::span<Shape> inputs, std::span<Shape> outputs);

}  // namespace cohort
