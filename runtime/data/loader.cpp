#include "runtime/data/loader.hpp"

#include <algorithm>
#include <atomic>
#include <exception>

#include "kernels/base/buffer.hpp"
#include "kernels/base/error.hpp"

namespace cohort {
namespace {

constexpr std::size_t line_bytes = 64;

struct Slot {
  Batch batch;
  float* values = nullptr;
  std::vector<float> labels;
  std::vector<std::uint32_t> ids;
  std::exception_ptr error;  // in place of a batch; the last thing the reader hands over
};

std::size_t slot_count(const LoaderOptions& options, std::size_t batch_bytes) {
  constexpr std::size_t staging_bytes = 8 << 20;
  if (options.slots > 0) return static_cast<std::size_t>(options.slots);
  return std::clamp<std::size_t>(staging_bytes / std::max<std::size_t>(batch_bytes, 1), 4, 32);
}

}  // namespace

// A ring of slots between the reading thread and the consumer. `filled` and `released` count batches since the start,
// modulo 2^32: slot i % slots belongs to the consumer while released <= i < filled. Each side writes one counter and
// sleeps on the other, so that neither makes a system call while the other keeps up.
struct Loader::State {
  State(const Dataset& data, const Sampler& order, const LoaderOptions& settings);

  std::int64_t epoch_of(std::int64_t batch) const { return options.first_epoch + batch / sampler.steps_per_epoch(); }
  Slot& slot(std::int64_t batch) { return slots[static_cast<std::size_t>(batch) % slots.size()]; }
  void read_all();
  void read_batch(Slot& slot, std::int64_t batch);
  void prepare_epoch(std::int64_t epoch);
  bool wait_for_room(std::int64_t batch, std::int64_t epoch);

  const Dataset& dataset;
  const Sampler sampler;
  const LoaderOptions options;
  const std::size_t sample_size;  // values
  std::int64_t batches = 0;       // of all epochs

  std::vector<Slot> slots;
  std::shared_ptr<Buffer> memory;  // of all slots' values

  // The reader's own.
  std::vector<std::uint32_t> permutation, next_permutation;
  std::int64_t current_epoch = -1;   // what permutation is for
  std::int64_t prepared_epoch = -1;  // what next_permutation is for

  std::int64_t taken = 0;  // the consumer's own: batches handed out

  alignas(line_bytes) std::atomic<std::uint32_t> filled{0};
  alignas(line_bytes) std::atomic<std::uint32_t> released{0};
  std::atomic<std::uint32_t> wake_at{0};  // the value of `released` at which the reader wants to be woken
  std::atomic<bool> stop{false};
};

Loader::State::State(const Dataset& data, const Sampler& order, const LoaderOptions& settings)
    : dataset(data),
      sampler(order),
      options(settings),
      sample_size(static_cast<std::size_t>(data.sample_shape().count())) {
  COHORT_CHECK(options.slots == 0 || options.slots >= 2, "loader: {} slots, at least 2 are needed", options.slots);
  COHORT_CHECK(sampler.options().samples <= dataset.count(), "loader: a sampler of {} samples over a data set of {}",
               sampler.options().samples, dataset.count());
  batches = std::max<std::int64_t>(options.last_epoch - options.first_epoch, 0) * sampler.steps_per_epoch();
  // Every later step is at most as large as the first.
  const auto capacity = static_cast<std::size_t>(sampler.local_count(0, sampler.options().rank));
  constexpr std::size_t line = line_bytes / sizeof(float);
  const std::size_t stride = (capacity * sample_size + line - 1) / line * line;
  slots.resize(options.read_ahead ? slot_count(options, stride * sizeof(float)) : 1);
  memory = Buffer::allocate(stride * slots.size() * sizeof(float));
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].values = static_cast<float*>(memory->data()) + i * stride;
    slots[i].labels.resize(capacity);
    slots[i].ids.reserve(capacity);
  }
}

void Loader::State::read_all() {
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    if (!wait_for_room(batch, epoch_of(batch))) return;
    Slot& into = slot(batch);
    try {
      read_batch(into, batch);
    } catch (...) {
      into.error = std::current_exception();
    }
    filled.store(static_cast<std::uint32_t>(batch + 1));
    filled.notify_one();
    if (into.error) return;
  }
}

void Loader::State::prepare_epoch(std::int64_t epoch) {
  if (prepared_epoch == epoch) return;
  next_permutation = sampler.permutation(epoch);
  prepared_epoch = epoch;
}

// Whether slot(batch) may be written; false once the loader is being destroyed. A full ring is waited for until half
// of it has been released, so that one wake-up serves several batches.
bool Loader::State::wait_for_room(std::int64_t batch, std::int64_t epoch) {
  const auto next = static_cast<std::uint32_t>(batch);
  const auto ring = static_cast<std::uint32_t>(slots.size());
  if (next - released.load() < ring) return !stop.load();
  try {
    if (epoch + 1 < options.last_epoch) prepare_epoch(epoch + 1);
  } catch (...) {  // is met again, and reported, when the epoch begins
  }
  const std::uint32_t target = next - ring / 2;
  wake_at.store(target);
  for (std::uint32_t seen = released.load(); !stop.load() && static_cast<std::int32_t>(seen - target) < 0;
       seen = released.load())
    released.wait(seen);
  return !stop.load();
}

void Loader::State::read_batch(Slot& slot, std::int64_t batch) {
  constexpr std::size_t ahead = 8;  // samples whose memory is under way
  const std::int64_t epoch = epoch_of(batch);
  const std::int64_t step = batch % sampler.steps_per_epoch();
  if (epoch != current_epoch) {
    prepare_epoch(epoch);
    permutation.swap(next_permutation);
    current_epoch = epoch;
  }
  slot.ids.clear();
  sampler.ids(permutation, step, sampler.options().rank, slot.ids);
  const std::size_t count = slot.ids.size();
  for (std::size_t i = 0; i < std::min(ahead, count); ++i) dataset.will_read(slot.ids[i]);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count) dataset.will_read(slot.ids[i + ahead]);
    dataset.read(slot.ids[i], options.scale, {slot.values + i * sample_size, sample_size}, slot.labels[i]);
  }
  slot.batch = {epoch,
                step,
                static_cast<std::int64_t>(count),
                sampler.global_count(step),
                {slot.values, count * sample_size},
                {slot.labels.data(), count},
                slot.ids};
}

Loader::Loader(const Dataset& dataset, const Sampler& sampler, const LoaderOptions& options)
    : state_(std::make_unique<State>(dataset, sampler, options)),
      reader_(options.read_ahead ? std::thread([state = state_.get()] { state->read_all(); }) : std::thread()) {}

Loader::~Loader() {
  if (!reader_.joinable()) return;
  state_->stop.store(true);
  state_->released.fetch_add(1);  // a change, since the reader sleeps until this counter has another value
  state_->released.notify_one();
  reader_.join();
}

const Batch* Loader::next() {
  State& state = *state_;
  if (!state.options.read_ahead) {
    if (state.taken == state.batches) return nullptr;
    Slot& slot = state.slots[0];
    state.read_batch(slot, state.taken);
    ++state.taken;
    return &slot.batch;
  }
  if (state.taken > 0) {
    const auto released = static_cast<std::uint32_t>(state.taken);
    state.released.store(released);
    if (state.wake_at.load() == released) state.released.notify_one();
  }
  if (state.taken == state.batches) return nullptr;
  const auto wanted = static_cast<std::uint32_t>(state.taken);
  while (state.filled.load(std::memory_order_acquire) == wanted) state.filled.wait(wanted);
  Slot& slot = state.slot(state.taken);
  if (slot.error) std::rethrow_exception(slot.error);
  ++state.taken;
  return &slot.batch;
}

}  // namespace cohort
