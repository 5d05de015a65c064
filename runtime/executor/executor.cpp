#include "runtime/executor/executor.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>

#include "kernels/base/compute_threads.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/host_memory.hpp"
#include "runtime/executor/program.hpp"

namespace cohort {

// One block that only grows. Executors made before it grew move over at their next forward.
class ExecutorMemory {
 public:
  void reserve(std::size_t bytes) {
    if (block_ == nullptr || block_->bytes() < bytes) block_ = Buffer::allocate(bytes);
  }
  const std::shared_ptr<Buffer>& block() const { return block_; }

 private:
  std::shared_ptr<Buffer> block_;
};

std::shared_ptr<ExecutorMemory> make_executor_memory() { return std::make_shared<ExecutorMemory>(); }

namespace {

// Arrays by name, in the order of `nodes`; none where the map has none. Every name of the map must be known.
std::vector<NDArray> by_position(const Graph& graph, const std::vector<int>& nodes,
                                 const std::map<std::string, NDArray>& named, std::string_view what) {
  std::vector<NDArray> arrays;
  std::set<std::string> names;
  for (const int node : nodes) {
    const std::string& name = graph.at(node).name();
    if (!names.insert(name).second) throw_usage("bind: two variables are named '{}'", name);
    const auto found = named.find(name);
    arrays.push_back(found == named.end() ? NDArray() : found->second);
  }
  for (const auto& [name, array] : named)
    if (!names.contains(name))
      throw_usage("bind: the symbol has no {} '{}'; it has {}", what, name, fmt::join(names, ", "));
  return arrays;
}

void check_array(const NDArray& array, const Shape& shape, Device device, std::string_view what,
                 const std::string& name) {
  if (array.none()) throw_usage("bind: {} '{}' is missing", what, name);
  if (array.shape() != shape)
    throw_usage("bind: {} '{}' has shape {}, but {} is needed", what, name, to_string(array.shape()), to_string(shape));
  if (array.dtype() != DType::f32)
    throw_usage("bind: {} '{}' is {}, but float32 is needed", what, name, to_string(array.dtype()));
  if (array.device() != device)
    throw_usage("bind: {} '{}' is on {}, but the executor on {}", what, name, to_string(array.device()),
                to_string(device));
}

// Said here, where the node is known, and not by whatever first asks for the memory.
void require_room(const Graph& graph, const std::vector<std::vector<Shape>>& shapes) {
  const std::uint64_t limit = host_memory_bytes();
  for (int n = 0; n < graph.size(); ++n)
    for (const Shape& shape : shapes[static_cast<std::size_t>(n)])
      if (const auto bytes = static_cast<std::uint64_t>(shape.count()) * sizeof(float); bytes > limit)
        COHORT_FAIL(memory, "bind: node '{}' of shape {} takes {} bytes, but this host has {} bytes of memory",
                    graph.at(n).name(), to_string(shape), bytes, limit);
}

}  // namespace

struct Executor::State {
  State(const Symbol& symbol, Context& context, Device device, const BindOptions& options)
      : arguments(options.arguments),
        gradients(options.gradients),
        auxiliary(options.auxiliary),
        graph(symbol),
        output_names(symbol.list_outputs()),
        memory(options.memory ? options.memory : make_executor_memory()) {
    const std::vector<int> nodes = graph.arguments();
    arrays.arguments = by_position(graph, nodes, options.arguments, "argument");
    arrays.gradients = by_position(graph, nodes, options.gradients, "argument");
    arrays.auxiliary = by_position(graph, graph.auxiliary_states(), options.auxiliary, "auxiliary state");
    const std::vector<std::vector<Shape>> shapes = check_shapes(device);
    require_room(graph, shapes);
    const std::vector<GradRequest> requests = settle_requests(options);
    std::vector<bool> asked;
    asked.reserve(requests.size());
    for (const GradRequest request : requests) asked.push_back(request != GradRequest::null);
    flow = find_gradient_flow(graph, asked);
    for (const GraphEntry& head : graph.heads)
      arrays.outputs.push_back(
          NDArray::zeros(context, shapes[static_cast<std::size_t>(head.node)][static_cast<std::size_t>(head.output)],
                         DType::f32, device));
    program.emplace(make_plan({.graph = graph,
                               .shapes = shapes,
                               .flow = flow,
                               .requests = requests,
                               .backend = context.backend(device),
                               .elementwise = context.elementwise(device),
                               .threads = compute_threads()}),
                    arrays);
    head_gradients.resize(graph.heads.size());
    trains = options.train;
    memory->reserve(program->plan().planned_bytes);
  }

  std::vector<std::vector<Shape>> check_shapes(Device device) const {
    std::map<std::string, Shape> known;
    const std::vector<int> nodes = graph.arguments();
    const std::vector<int> states = graph.auxiliary_states();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string& name = graph.at(nodes[i]).name();
      if (arrays.arguments[i].none()) throw_usage("bind: argument '{}' is missing", name);
      known.emplace(name, arrays.arguments[i].shape());
    }
    std::vector<std::vector<Shape>> shapes = infer_graph_shapes(graph, known);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string& name = graph.at(nodes[i]).name();
      const Shape& shape = shapes[static_cast<std::size_t>(nodes[i])][0];
      check_array(arrays.arguments[i], shape, device, "argument", name);
      if (!arrays.gradients[i].none()) check_array(arrays.gradients[i], shape, device, "gradient", name);
    }
    for (std::size_t i = 0; i < states.size(); ++i)
      check_array(arrays.auxiliary[i], shapes[static_cast<std::size_t>(states[i])][0], device, "auxiliary state",
                  graph.at(states[i]).name());
    return shapes;
  }

  std::vector<GradRequest> settle_requests(const BindOptions& options) const {
    std::vector<GradRequest> requests;
    const std::vector<int> nodes = graph.arguments();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto said = options.requests.find(graph.at(nodes[i]).name());
      const GradRequest request = said == options.requests.end() ? GradRequest::write : said->second;
      requests.push_back(options.train && !arrays.gradients[i].none() ? request : GradRequest::null);
    }
    return requests;
  }

  // Addresses of the heads' gradients, waited for.
  void take_head_gradients(const std::vector<NDArray>& out_grads) {
    if (!out_grads.empty() && out_grads.size() != graph.heads.size())
      throw_usage("backward: {} head gradients were given, but the symbol has {} heads", out_grads.size(),
                  graph.heads.size());
    for (std::size_t head = 0; head < graph.heads.size(); ++head) {
      if (!flow.head_gradients[head]) continue;
      if (out_grads.empty())
        throw_usage("backward: output '{}' is no loss, so its gradient must be given", output_names[head]);
      const NDArray& gradient = out_grads[head];
      if (gradient.none() || gradient.shape() != arrays.outputs[head].shape())
        throw_usage("backward: the gradient of output '{}' has shape {}, but {} is needed", output_names[head],
                    to_string(gradient.shape()), to_string(arrays.outputs[head].shape()));
      head_gradients[head] = gradient.data();
    }
  }

  std::map<std::string, NDArray> arguments;
  std::map<std::string, NDArray> gradients;
  std::map<std::string, NDArray> auxiliary;
  Graph graph;
  std::vector<std::string> output_names;
  GradientFlow flow;
  BoundArrays arrays;
  std::optional<Program> program;
  std::vector<const float*> head_gradients;
  std::function<void(std::size_t)> hook;
  std::shared_ptr<ExecutorMemory> memory;
  std::shared_ptr<Buffer> block;  // where the program is placed
  bool trains = true;
  bool ready_for_backward = false;
};

Executor::Executor(const Symbol& symbol, Context& context, Device device, const BindOptions& options)
    : state_(std::make_unique<State>(symbol, context, device, options)) {}

Executor::~Executor() = default;

std::unique_ptr<Executor> Executor::simple_bind(const Symbol& symbol, Context& context, Device device,
                                                const std::map<std::string, Shape>& shapes, bool train) {
  const InferredShapes inferred = symbol.infer_shapes(shapes);
  const auto zeros = [&](const Shape& shape) { return NDArray::zeros(context, shape, DType::f32, device); };
  BindOptions options;
  options.train = train;
  const std::vector<std::string> arguments = symbol.list_arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    options.arguments.emplace(arguments[i], zeros(inferred.arguments[i]));
    if (train && !shapes.contains(arguments[i])) options.gradients.emplace(arguments[i], zeros(inferred.arguments[i]));
  }
  const std::vector<std::string> auxiliary = symbol.list_auxiliary_states();
  for (std::size_t i = 0; i < auxiliary.size(); ++i)
    options.auxiliary.emplace(auxiliary[i], zeros(inferred.auxiliary[i]));
  return std::make_unique<Executor>(symbol, context, device, options);
}

void Executor::forward(bool is_train) {
  State& state = *state_;
  COHORT_CHECK(!is_train || state.trains, "forward: the executor was bound for inference");
  if (state.block != state.memory->block()) {
    state.block = state.memory->block();
    state.program->place(static_cast<std::byte*>(state.block->data()));
  }
  state.ready_for_backward = false;
  state.program->forward(is_train);
  state.ready_for_backward = is_train;
}

void Executor::backward(const std::vector<NDArray>& out_grads) {
  State& state = *state_;
  COHORT_CHECK(state.ready_for_backward, "backward: it needs a forward for training before it");
  state.take_head_gradients(out_grads);
  state.ready_for_backward = false;
  state.program->backward(state.head_gradients, state.hook);
}

const std::vector<NDArray>& Executor::outputs() const { return state_->arrays.outputs; }
const std::map<std::string, NDArray>& Executor::arguments() const { return state_->arguments; }
const std::map<std::string, NDArray>& Executor::gradients() const { return state_->gradients; }
const std::map<std::string, NDArray>& Executor::auxiliary() const { return state_->auxiliary; }

void Executor::on_gradient_ready(std::function<void(std::size_t index)> hook) { state_->hook = std::move(hook); }

std::size_t Executor::planned_bytes() const { return state_->program->plan().planned_bytes; }
std::size_t Executor::unshared_bytes() const { return state_->program->plan().unshared_bytes; }

}  // namespace cohort
