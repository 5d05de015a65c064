// This rank's own weights and optimizer state, for updates that run off the store.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/ndarray/ndarray.hpp"
#include "runtime/optim/optimizer.hpp"

namespace cohort {

// Uses the store's update kernel on whole keys, with the store's sum as the one contribution: the same bits as an
// update on the store.
class Replica {
 public:
  Replica(Context& context, Optimizer optimizer);

  Optimizer& optimizer() { return optimizer_; }
  // Adds a parameter with its value and zeroed state; returns the array that updates change in place.
  NDArray add(const std::string& name, const NDArray& value);
  // One update of every parameter, in the order they were added; `sums` in the same order.
  void update(const std::vector<NDArray>& sums);

 private:
  struct Entry {
    std::string name;
    NDArray weight;
    std::vector<NDArray> states;
  };

  Context& context_;
  Optimizer optimizer_;
  std::vector<Entry> entries_;
};

}  // namespace cohort
