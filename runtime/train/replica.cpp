#include "runtime/train/replica.hpp"

#include <array>

namespace cohort {

Replica::Replica(Context& context, Optimizer optimizer) : context_(context), optimizer_(std::move(optimizer)) {}

NDArray Replica::add(const std::string& name, const NDArray& value) {
  Entry entry{name, value.copy(), {}};
  for (int i = 0; i < optimizer_.state_count(); ++i) entry.states.push_back(NDArray::zeros(context_, value.shape()));
  entry.weight.wait_to_read();
  entries_.push_back(entry);
  return entry.weight;
}

void Replica::update(const std::vector<NDArray>& sums) {
  COHORT_CHECK(sums.size() == entries_.size(), "{} gradient sums for {} parameters", sums.size(), entries_.size());
  constexpr std::size_t most_states = 8;
  std::array<float*, most_states> states{};
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    for (std::size_t k = 0; k < entry.states.size(); ++k) states[k] = entry.states[k].data();
    const std::array<const float*, 1> contributions{sums[i].data()};
    UpdateSlice slice;
    slice.contributions = contributions;
    slice.weight = entry.weight.data();
    slice.states = std::span<float* const>(states.data(), entry.states.size());
    slice.elements = entry.weight.count();
    optimizer_.kernel().run(slice, optimizer_.next_step(entry.name));
    entry.weight.bump_version();
  }
}

}  // namespace cohort
