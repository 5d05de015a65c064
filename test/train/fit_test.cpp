// The training loop on real ranks: it ends whatever the numbers are, and a step on one node costs no message and no
// copy.
#include "runtime/train/fit.hpp"

#include "kernels/base/backend.hpp"
#include "runtime/models/models.hpp"
#include "test/support/all_ranks.hpp"
#include "test/support/catch.hpp"
#include "test/support/mpi_main.hpp"

namespace cohort {

using test::test_world;

namespace {

// Samples whose values follow from their index.
class CountedSamples : public Dataset {
 public:
  explicit CountedSamples(std::int64_t count) : count_(count) {}
  const std::string& description() const override { return description_; }
  std::int64_t count() const override { return count_; }
  const Shape& sample_shape() const override { return shape_; }
  int classes() const override { return 3; }
  int label(std::int64_t index) const override { return static_cast<int>(index % 3); }
  void read(std::int64_t index, float scale, std::span<float> values, float& label) const override {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = scale * static_cast<float>((static_cast<std::size_t>(index) * 7 + i) % 11);
    label = static_cast<float>(index % 3);
  }

 private:
  std::string description_ = "counted samples";
  Shape shape_{1, 2, 2};
  std::int64_t count_;
};

// One run of `epochs` epochs with its own store.
struct TestRun {
  TestRun(World& world, std::int64_t samples, std::int64_t global_batch, TailRule tail, int epochs)
      : context(cpu_backend()), train(samples), sampler(options(world, samples, global_batch, tail)) {
    config.num_epochs = epochs;
    std::vector<std::unique_ptr<Metric>> metrics;
    metrics.push_back(make_metric("accuracy"));
    NameCounter names;
    const Symbol flat = Symbol::create(names, "Flatten", {Symbol::variable("data")});
    const Symbol dense = Symbol::create(names, "FullyConnected", {flat}, {{"num_hidden", "3"}}, "fc");
    const Symbol head = Symbol::create(names, "SoftmaxOutput", {dense}, {}, "softmax");
    module = std::make_unique<Module>(context, head, train.sample_shape(), std::move(metrics));
    store = make_store(world, context, world.size() > 1 ? "dist_sync" : "local");
    OptimizerOptions sgd;
    sgd.learning_rate = 0.1f;
    sgd.momentum = 0.9f;
    module->init_optimizer(*store, Optimizer(sgd), true, module->initial_parameters("xavier", "test", 1));
    module->bind(sampler.local_batches(), {});
  }

  static SamplerOptions options(World& world, std::int64_t samples, std::int64_t global_batch, TailRule tail) {
    SamplerOptions options;
    options.samples = samples;
    options.global_batch = global_batch;
    options.ranks = world.size();
    options.rank = world.rank();
    options.tail = tail;
    return options;
  }

  FitResult fit_all(World& world) {
    Progress progress({LogStyle::quiet, 20, world.size(), false}, {"accuracy"});
    RunLog log("");
    IdDump dump(world, "");
    const LearningRatePlan plan;
    const Faults faults("", world.rank(), world.size(), 0);
    const CountedSamples nothing(0);
    return fit({world, *store, *module, train, nothing, sampler, plan, faults, log, dump, progress}, config, {}, 0);
  }

  TrainConfig config;
  Context context;
  CountedSamples train;
  Sampler sampler;
  std::unique_ptr<Module> module;
  std::unique_ptr<KVStore> store;
};

}  // namespace

TEST_CASE("fit, any number of samples, batch and ranks ends with every sample used once", "[fit]") {
  World& world = test_world();
  for (std::int64_t samples = 1; samples <= 50; ++samples) {
    for (const std::int64_t batch : {1, 3, 8}) {
      TestRun run(world, samples, batch * world.size(), TailRule::exact, 2);
      const FitResult result = run.fit_all(world);
      const std::int64_t steps = run.sampler.steps_per_epoch();
      run.store->close();
      INFO(samples << " samples, batch " << batch);
      REQUIRE_ALL(world, result.samples == 2 * samples);
      REQUIRE_ALL(world, result.steps == 2 * steps);
    }
  }
}

TEST_CASE("a step of dist_sync on one node, makes no MPI call and copies no byte", "[fit]") {
  World& world = test_world();
  if (world.node_count() > 1) return;
  TestRun run(world, 40, 4 * world.size(), TailRule::exact, 5);
  run.fit_all(world);  // whatever happens once has happened
  const std::uint64_t calls_before = world.mpi_calls();
  const std::uint64_t bytes_before = run.store->copied_bytes();
  std::vector<float> data(16, 0.5f);
  const std::vector<float> labels(4, 1.0f);
  const std::vector<std::uint32_t> ids(4, 0);
  for (int step = 0; step < 100; ++step) {
    Batch batch;
    batch.count = 4;
    batch.global_count = 4 * world.size();
    batch.data = data;
    batch.labels = labels;
    batch.ids = ids;
    run.module->set_global_count(batch.global_count);
    run.module->forward_backward(batch, StepReport{});
    run.module->update();
  }
  const std::uint64_t calls = world.mpi_calls() - calls_before;
  const std::uint64_t bytes = run.store->copied_bytes() - bytes_before;
  const std::vector<StepReport> reports = run.store->reports();
  REQUIRE_ALL(world, calls == 0);
  REQUIRE_ALL(world, bytes == 0);
  REQUIRE_ALL(world, reports.size() == static_cast<std::size_t>(world.size()));
  for (const StepReport& report : reports) REQUIRE_ALL(world, report.samples == 4);
  run.store->close();
}

}  // namespace cohort
