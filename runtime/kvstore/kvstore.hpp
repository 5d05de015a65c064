// KVStore: MXNet's key-value store without servers. The ranks play the server's role.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "collectives/world.hpp"
#include "runtime/ndarray/ndarray.hpp"
#include "runtime/optim/optimizer.hpp"

namespace cohort {

// A key: an integer or a name. One store takes one kind only, fixed by its first use.
class Key {
 public:
  Key(int number) : value_(number) {}
  Key(std::string name) : value_(std::move(name)) {}
  Key(const char* name) : value_(std::string(name)) {}

  bool number() const { return std::holds_alternative<int>(value_); }
  // The name under which every rank knows the key; numbers in decimal.
  std::string text() const;
  // clang-tidy takes the comparison with zero inside for a pointer.
  // NOLINTNEXTLINE(modernize-use-nullptr)
  auto operator<=>(const Key&) const = default;

 private:
  std::variant<int, std::string> value_;
};

// What a rank tells the others with each step: a control word carried by the exchange itself, at no cost of its own.
struct StepReport {
  double loss_sum = 0;  // over this rank's samples
  double correct = 0;   // likewise (the first metric's sum)
  std::int64_t samples = 0;
  bool stop = false;  // this rank wants to stop after this step
};

// Applied to one key: `received` is the sum over ranks and devices, `stored` is changed in place.
using Updater = std::function<void(const Key& key, const NDArray& received, NDArray& stored)>;

// Every verb must be called by every rank for the same keys the same number of times; init, broadcast, barrier,
// set_optimizer, set_updater and close are collective, and first end the rounds this rank has pushed. Rounds of
// different keys are independent: ranks may push keys in different orders. push and pull wait for work pending on the
// arrays they are given (an array that two keys fill waits for the first key's round), else never for other ranks; what
// a pull fills is waited for when it is read. Values are summed over the devices of a rank in the order given, then
// over the ranks of a node and over nodes in rank order: the same bits on every rank. Everything runs in the caller's
// thread, inside the verbs and the waits of this store: a rank that is about to block elsewhere calls wait_all first,
// since other ranks may need its part of a round. Errors name the verb and the key.
class KVStore {
 public:
  virtual ~KVStore() = default;

  virtual const std::string& type() const = 0;
  virtual int rank() const = 0;
  virtual int num_workers() const = 0;
  // "optimizer": whether the store runs updates. Any other name throws Error(usage).
  virtual bool is_capable(std::string_view capability) const = 0;

  // Registers keys, once each; rank 0's values win. The order inside the list may differ between ranks; names, shapes
  // and dtypes may not. One call makes one block of memory, in rank 0's order.
  virtual void init(std::span<const Key> keys, std::span<const NDArray> values) = 0;
  // One list of device values per key. Priority is a hint. Repeated keys in one call are summed first.
  virtual void push(std::span<const Key> keys, std::span<const std::vector<NDArray>> values, int priority = 0) = 0;
  virtual void pull(std::span<const Key> keys, std::span<const std::vector<NDArray>> outs, int priority = 0) = 0;
  // push, then pull into `outs`, or back into `values` when `outs` is empty.
  virtual void pushpull(std::span<const Key> keys, std::span<const std::vector<NDArray>> values,
                        std::span<const std::vector<NDArray>> outs = {}, int priority = 0) = 0;
  void broadcast(std::span<const Key> keys, std::span<const NDArray> values, std::span<const std::vector<NDArray>> outs,
                 int priority = 0);

  // Where updates run. Without either, the store holds the last round's sum. An updater function is run by one rank of
  // each node on the whole key and must not call the store. Setting one replaces the other and its state; an empty
  // function leaves neither.
  virtual void set_optimizer(Optimizer optimizer) = 0;
  virtual void set_updater(Updater updater) = 0;
  // The store's optimizer, to set rescale and learning rate before a push. Null without one.
  virtual Optimizer* optimizer() = 0;

  virtual void barrier() = 0;

  // The store's own memory for a key, until close: pushing `gradient(key)` copies nothing, and reading `weight(key)`
  // needs no copy either. Both wait, when touched, for the round in flight; pointers kept across a push are valid again
  // after wait_all. weight(key) may be one copy for all ranks of a node: read only, and not between a push and the end
  // of its round.
  virtual NDArray gradient(const Key& key) = 0;
  virtual NDArray weight(const Key& key) = 0;

  // Blocks until every round this rank has pushed is done, doing this rank's part of the work.
  virtual void wait_all() = 0;

  // The control word of the next pushes, on every rank or on none, and, after wait_all, those of all ranks in rank
  // order.
  virtual void set_report(const StepReport& report) = 0;
  virtual std::vector<StepReport> reports() const = 0;

  // Bytes that push and pull have copied between arrays and the store's memory.
  virtual std::uint64_t copied_bytes() const = 0;
  // Where the weights lie: "node (mpi window)", "node (private)" for a rank alone on its node, or "rank".
  virtual std::string weights_placement() const = 0;

  // Collective: releases shared memory. Called before World::finish.
  virtual void close() = 0;

  // Single-key forms.
  void init(const Key& key, const NDArray& value);
  void push(const Key& key, const NDArray& value, int priority = 0);
  void pull(const Key& key, const NDArray& out, int priority = 0);
  void pushpull(const Key& key, const NDArray& value, const NDArray& out, int priority = 0);
};

struct StoreOptions {
  int servers_per_node = -1;     // owners per node (MXNet's -s); -1: every rank
  bool private_weights = false;  // placement `rank` even where shared memory has room
};

struct StoreRow {
  std::string_view name;
  std::string_view summary;
  bool distributed;  // sums over ranks
  std::unique_ptr<KVStore> (*make)(World& world, Context& context, std::string_view name, const StoreOptions& options);
};
std::span<const StoreRow> store_table();

// Exact names, in any case. Throws Error(usage) listing the table. A type that is not distributed in a world of several
// ranks is an error. Collective.
std::unique_ptr<KVStore> make_store(World& world, Context& context, std::string_view name,
                                    const StoreOptions& options = {});
const StoreRow& find_store(std::string_view name);

}  // namespace cohort
