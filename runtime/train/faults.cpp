#include "runtime/train/faults.hpp"

#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/base/numbers.hpp"
#include "kernels/base/random.hpp"

namespace cohort {

namespace {

// The parts between marks; there is one more than marks, and parts may be empty.
std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(mark); end != std::string_view::npos; end = text.find(mark, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// Throws with the form when a part of `spec` is not as it must be.
class FaultSpec {
 public:
  explicit FaultSpec(std::string_view spec) : spec_(spec) {}

  // `text` behind `head`.
  std::string_view after(std::string_view head, std::string_view text) const {
    if (!text.starts_with(head)) wrong();
    return text.substr(head.size());
  }
  // -1: every rank.
  int target(std::string_view text) const {
    return text == "*" ? -1 : static_cast<int>(number<std::uint16_t>(after("rank", text)));
  }
  double positive(std::string_view text) const {
    const auto value = number<double>(text);
    if (!(value >= 0 && value <= 1e9)) wrong();
    return value;
  }
  [[noreturn]] void wrong() const {
    throw_usage("--inject {}: must look like delay@rank1:30ms or delay@*:0-20ms[,phase=data|compute][,p=0.05]", spec_);
  }

 private:
  template <class T>
  T number(std::string_view text) const {
    const std::optional<T> value = parse_number<T>(text);
    if (!value) wrong();
    return *value;
  }
  std::string_view spec_;
};

}  // namespace

Faults::Faults(const std::string& specs, int rank, int ranks, std::uint64_t seed) : seed_(seed), rank_(rank) {
  if (specs.empty()) return;
  for (const std::string_view text : split(specs, ';')) {
    const FaultSpec spec(text);
    const std::vector<std::string_view> halves = split(spec.after("delay@", text), ':');
    if (halves.size() != 2) spec.wrong();
    const int target = spec.target(halves[0]);
    const std::vector<std::string_view> parts = split(halves[1], ',');
    if (!parts[0].ends_with("ms")) spec.wrong();
    const std::vector<std::string_view> range = split(parts[0].substr(0, parts[0].size() - 2), '-');
    if (range.size() > 2) spec.wrong();
    Delay delay;
    delay.least_ms = spec.positive(range.front());
    delay.most_ms = spec.positive(range.back());
    for (const std::string_view option : std::span(parts).subspan(1)) {
      if (option == "phase=data")
        delay.phase = FaultPhase::data;
      else if (option != "phase=compute")
        delay.probability = spec.positive(spec.after("p=", option));
    }
    if (delay.most_ms < delay.least_ms || delay.probability > 1)
      throw_usage("--inject {}: the range must rise and p be at most 1", text);
    if (target >= ranks) throw_usage("--inject {}: there is no rank {} among {}", text, target, ranks);
    if (target < 0 || target == rank) delays_.push_back(delay);
  }
}

void Faults::delay(FaultPhase phase, std::int64_t step) const {
  for (std::size_t i = 0; i < delays_.size(); ++i) {
    const Delay& fault = delays_[i];
    if (fault.phase != phase) continue;
    const RandomStream random(seed_, "inject", static_cast<std::uint64_t>(rank_));
    const auto counter = static_cast<std::uint64_t>(step);
    if (random.uniform(counter, 2 * i) >= fault.probability) continue;
    const double span = fault.most_ms - fault.least_ms;
    const double ms = fault.least_ms + span * static_cast<double>(random.uniform(counter, 2 * i + 1));
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
  }
}

}  // namespace cohort
