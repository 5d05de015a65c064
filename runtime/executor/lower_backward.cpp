#include <algorithm>

#include "runtime/executor/executor.hpp"
#include "runtime/executor/lowering.hpp"
#include "runtime/executor/moves.hpp"

namespace cohort {
namespace {

constexpr InplacePair sum_pairs[] = {{0, 0}, {1, 0}};

std::size_t index(int i) { return static_cast<std::size_t>(i); }

// Walks the forward operations backwards. Each value's gradient is summed as contributions arrive; a sum is a new
// value, which the memory plan puts in place of an operand.
class BackwardLowering {
 public:
  BackwardLowering(const PlanRequest& request, const ForwardPlan& forward, StepPlan& plan)
      : request_(request), forward_(forward), plan_(plan), arguments_(request.graph.arguments()) {}

  void lower() {
    if (request_.flow.order.empty()) return;
    gradients_.assign(plan_.values.size(), -1);
    forward_steps_ = plan_.steps.size();
    for (std::size_t head = 0; head < forward_.heads.size(); ++head) seed_head(static_cast<int>(head));
    for (auto op = forward_.ops.rbegin(); op != forward_.ops.rend(); ++op) {
      finish_arguments(op->node);
      lower_op(*op);
    }
    finish_arguments(-1);
  }

 private:
  int& gradient_of(int value) { return gradients_[index(value)]; }

  void seed_head(int head) {
    if (!request_.flow.head_gradients[index(head)]) return;
    const int value = forward_.heads[index(head)];
    const int gradient = plan_.add_value(plan_.at(value).shape, Layout::row_major, StorageKind::head_gradient, head);
    contribute(value, gradient);
  }

  void contribute(int value, int gradient) {
    int& sum = gradient_of(value);
    sum = sum < 0 ? gradient : add_sum(sum, gradient);
  }

  int add_sum(int a, int b) {
    const Value like = plan_.at(a);
    const int sum = plan_.add_value(like.shape, like.layout);
    plan_.steps.push_back({.kernel = plan_.keep(make_sum(request_.elementwise, like.shape.count())),
                           .out_grads = {a, b},
                           .in_grads = {sum},
                           .backward = true,
                           .inplace = sum_pairs});
    return sum;
  }

  void lower_op(const LoweredOp& op) {
    if (op.kind == LoweredOp::Kind::node) return lower_node(op);
    const int out_grad = gradient_of(op.outputs[0]);
    if (out_grad < 0) return;
    const int input = op.inputs[0];
    const Value like = plan_.at(input);
    if (op.kind != LoweredOp::Kind::convert)
      return contribute(input, plan_.add_alias(out_grad, like.shape, like.layout));
    const int gradient = plan_.add_value(like.shape, like.layout);
    plan_.steps.push_back({.kernel = op.kernel, .out_grads = {out_grad}, .in_grads = {gradient}, .backward = true});
    contribute(input, gradient);
  }

  void lower_node(const LoweredOp& op) {
    if (!request_.flow.active[index(op.node)]) return;
    const std::vector<bool>& wanted = request_.flow.wanted[index(op.node)];
    if (request_.graph.at(op.node).row->gradient == GradientForm::pass)
      pass_gradient(op, wanted);
    else
      add_kernel_step(op, wanted);
  }

  void pass_gradient(const LoweredOp& op, const std::vector<bool>& wanted) {
    const int out_grad = gradient_of(op.outputs[0]);
    const bool exclusive = plan_.at(out_grad).exclusive && std::ranges::count(wanted, true) == 1;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i]) continue;
      const Value like = plan_.at(op.inputs[i]);
      const int gradient = plan_.add_alias(out_grad, like.shape, like.layout);
      plan_.at(gradient).exclusive = exclusive;
      contribute(op.inputs[i], gradient);
    }
  }

  void add_kernel_step(const LoweredOp& op, const std::vector<bool>& wanted) {
    const GraphNode& node = request_.graph.at(op.node);
    const BackwardReads reads = node.row->reads_for_backward(node.parameters, wanted);
    PlannedStep step{.kernel = op.kernel, .backward = true, .inplace = node.row->inplace_backward};
    step.inputs.assign(op.inputs.size(), -1);
    for (const int i : reads.inputs) step.inputs[index(i)] = op.inputs[index(i)];
    step.outputs.assign(op.outputs.size(), -1);
    for (const int i : reads.outputs) step.outputs[index(i)] = op.outputs[index(i)];
    const bool loss = node.row->is_loss(node.parameters);
    for (const int output : op.outputs) step.out_grads.push_back(loss ? -1 : gradient_of(output));
    if (reads.workspace) step.workspace = op.workspace;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const Value like = plan_.at(op.inputs[i]);
      step.in_grads.push_back(wanted[i] ? plan_.add_value(like.shape, like.layout) : -1);
    }
    const std::vector<int> in_grads = step.in_grads;
    plan_.steps.push_back(std::move(step));
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i]) contribute(op.inputs[i], in_grads[i]);
  }

  // Arguments that no node up to and including `next` has to do with any more.
  void finish_arguments(int next) {
    const std::vector<GradientFlow::Ready>& order = request_.flow.order;
    for (; finished_ < order.size() && order[finished_].after > next; ++finished_) {
      write_gradient(order[finished_].argument);
      if (plan_.steps.size() == forward_steps_)
        ++plan_.ready_at_start;
      else
        ++plan_.steps.back().gradients_ready;
    }
  }

  // Brings the argument's gradient into the bound array.
  void write_gradient(int argument) {
    const bool add = request_.requests[index(argument)] == GradRequest::add;
    const int value = forward_.variables[index(arguments_[index(argument)])];
    const int gradient = gradient_of(value);
    const Shape shape = plan_.at(value).shape;
    if (gradient < 0) {
      if (!add) move_to(argument, shape, {}, make_zero(request_.elementwise, shape.count()));
    } else if (add) {
      const int before = plan_.add_value(shape, Layout::row_major, StorageKind::gradient, argument);
      move_to(argument, shape, {before, gradient}, make_sum(request_.elementwise, shape.count()));
    } else if (plan_.at(gradient).exclusive && plan_.storage_of(gradient).kind == StorageKind::planned) {
      plan_.storage_of(gradient).kind = StorageKind::gradient;
      plan_.storage_of(gradient).index = argument;
    } else {
      move_to(argument, shape, {gradient}, make_copy(request_.elementwise, shape.count()));
    }
  }

  void move_to(int argument, const Shape& shape, std::vector<int> from, std::unique_ptr<OperatorKernel> kernel) {
    const int target = plan_.add_value(shape, Layout::row_major, StorageKind::gradient, argument);
    plan_.steps.push_back({.kernel = plan_.keep(std::move(kernel)),
                           .out_grads = std::move(from),
                           .in_grads = {target},
                           .backward = true});
  }

  const PlanRequest& request_;
  const ForwardPlan& forward_;
  StepPlan& plan_;
  std::vector<int> arguments_;
  std::vector<int> gradients_;  // per forward value: the value of its gradient so far, or -1
  std::size_t forward_steps_ = 0;
  std::size_t finished_ = 0;
};

}  // namespace

void lower_backward(const PlanRequest& request, const ForwardPlan& forward, StepPlan& plan) {
  BackwardLowering(request, forward, plan).lower();
}

}  // namespace cohort
