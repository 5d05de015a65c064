#include <algorithm>
#include <map>
#include <utility>

#include "runtime/executor/lowering.hpp"
#include "runtime/executor/moves.hpp"

namespace cohort {
namespace {

constexpr std::size_t image_rank = 4;

std::size_t index(int i) { return static_cast<std::size_t>(i); }

// Whether both layouts are the same bytes: one channel, or an image of one pixel.
bool layouts_agree(const Shape& shape) {
  return shape.rank() != image_rank || shape[1] == 1 || shape[2] * shape[3] == 1;
}

class ForwardLowering {
 public:
  ForwardLowering(const PlanRequest& request, StepPlan& plan)
      : request_(request), graph_(request.graph), plan_(plan), values_(index(graph_.size())) {}

  ForwardPlan lower() {
    forward_.variables.assign(index(graph_.size()), -1);
    bind_variables(graph_.arguments(), StorageKind::argument);
    bind_variables(graph_.auxiliary_states(), StorageKind::auxiliary);
    for (int n = 0; n < graph_.size(); ++n)
      if (!graph_.at(n).variable()) lower_node(n);
    for (std::size_t head = 0; head < graph_.heads.size(); ++head) lower_head(static_cast<int>(head));
    return std::move(forward_);
  }

 private:
  const Shape& shape_of(GraphEntry entry) const { return request_.shapes[index(entry.node)][index(entry.output)]; }
  int value_of(GraphEntry entry) const { return values_[index(entry.node)][index(entry.output)]; }

  void bind_variables(const std::vector<int>& nodes, StorageKind kind) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const int value = plan_.add_value(shape_of({nodes[i], 0}), Layout::row_major, kind, static_cast<int>(i));
      values_[index(nodes[i])] = {value};
      forward_.variables[index(nodes[i])] = value;
    }
  }

  // The value in the given layout: itself, the same bytes under another name, or a converted copy (made once).
  int in_layout(int value, Layout layout, int for_node) {
    const Value source = plan_.at(value);
    if (source.layout == layout || source.shape.rank() != image_rank) return value;
    const auto [made, fresh] = converted_.try_emplace({value, layout}, -1);
    if (!fresh) return made->second;
    LoweredOp op{.kind = LoweredOp::Kind::alias, .node = for_node, .inputs = {value}};
    if (layouts_agree(source.shape)) {
      op.outputs = {plan_.add_alias(value, source.shape, layout)};
    } else {
      op.kind = LoweredOp::Kind::convert;
      op.kernel = plan_.keep(make_convert(request_.elementwise, source.shape, source.layout, layout));
      op.outputs = {plan_.add_value(source.shape, layout)};
      plan_.steps.push_back({.kernel = op.kernel, .inputs = op.inputs, .outputs = op.outputs});
    }
    made->second = op.outputs[0];
    forward_.ops.push_back(std::move(op));
    return made->second;
  }

  // The layout that rank-4 arrays of the node have; weights and the like stay row-major.
  Layout layout_for(const GraphNode& node) const {
    switch (node.row->layout) {
      case LayoutRule::row_major: return Layout::row_major;
      case LayoutRule::image: return Layout::channels_last;
      case LayoutRule::same: break;
    }
    const bool any = std::ranges::any_of(
        node.inputs, [&](GraphEntry input) { return plan_.at(value_of(input)).layout == Layout::channels_last; });
    return any ? Layout::channels_last : Layout::row_major;
  }

  void lower_node(int n) {
    const GraphNode& node = graph_.at(n);
    const Layout layout = layout_for(node);
    LoweredOp op{.node = n};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool image = i == 0 || node.row->layout == LayoutRule::same;
      op.inputs.push_back(in_layout(value_of(node.inputs[i]), image ? layout : Layout::row_major, n));
    }
    if (node.row->make != nullptr) op.kernel = make_kernel(n);
    for (const Shape& shape : request_.shapes[index(n)]) {
      const Layout out = shape.rank() == image_rank ? layout : Layout::row_major;
      op.outputs.push_back(node.row->view ? plan_.add_alias(op.inputs[0], shape, out) : plan_.add_value(shape, out));
    }
    if (request_.flow.active[index(n)] && op.kernel != nullptr && op.kernel->workspace_bytes() > 0)
      op.workspace = plan_.add_workspace(op.kernel->workspace_bytes());
    if (!node.row->view) add_step(node, op);
    values_[index(n)] = op.outputs;
    forward_.ops.push_back(std::move(op));
  }

  OperatorKernel* make_kernel(int n) {
    const GraphNode& node = graph_.at(n);
    std::vector<Shape> inputs;
    for (const GraphEntry& input : node.inputs) inputs.push_back(shape_of(input));
    return plan_.keep(node.row->make({.backend = request_.backend,
                                      .parameters = node.parameters,
                                      .inputs = inputs,
                                      .outputs = request_.shapes[index(n)],
                                      .wanted = request_.flow.wanted[index(n)],
                                      .train = request_.flow.active[index(n)]}));
  }

  void add_step(const GraphNode& node, const LoweredOp& op) {
    const auto states = op.inputs.end() - node.row->auxiliary;
    plan_.steps.push_back({.kernel = op.kernel,
                           .inputs = {op.inputs.begin(), states},
                           .outputs = op.outputs,
                           .auxiliary = {states, op.inputs.end()},
                           .workspace = op.workspace,
                           .inplace = node.row->inplace_forward});
  }

  // A head is row-major and has an array of its own.
  void lower_head(int head) {
    const GraphEntry entry = graph_.heads[index(head)];
    int value = in_layout(value_of(entry), Layout::row_major, graph_.size());
    if (plan_.storage_of(value).kind != StorageKind::planned) {
      LoweredOp op{.kind = LoweredOp::Kind::copy, .node = graph_.size(), .inputs = {value}};
      op.kernel = plan_.keep(make_copy(request_.elementwise, shape_of(entry).count()));
      value = plan_.add_value(shape_of(entry), Layout::row_major);
      op.outputs = {value};
      plan_.steps.push_back({.kernel = op.kernel, .inputs = op.inputs, .outputs = op.outputs});
      forward_.ops.push_back(std::move(op));
    }
    plan_.storage_of(value).kind = StorageKind::output;
    plan_.storage_of(value).index = head;
    forward_.heads.push_back(value);
  }

  const PlanRequest& request_;
  const Graph& graph_;
  StepPlan& plan_;
  std::vector<std::vector<int>> values_;  // per node and output
  std::map<std::pair<int, Layout>, int> converted_;
  ForwardPlan forward_;
};

}  // namespace

ForwardPlan lower_forward(const PlanRequest& request, StepPlan& plan) { return ForwardLowering(request, plan).lower(); }

StepPlan make_plan(const PlanRequest& request) {
  StepPlan plan;
  const ForwardPlan forward = lower_forward(request, plan);
  lower_backward(request, forward, plan);
  plan_memory(plan, request.threads);
  return plan;
}

}  // namespace cohort
