#include "runtime/train/faults.hpp"

#include <chrono>
#include <regex>
#include <thread>

#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"

namespace cohort {

Faults::Faults(const std::string& specs, int rank, std::uint64_t seed) : seed_(seed), rank_(rank) {
  static const std::regex form(
      R"(delay@(?:rank([0-9]{1,6})|\*):([0-9.]{1,9})(?:-([0-9.]{1,9}))?ms((?:,(?:phase=(?:data|compute)|p=[0-9.]{1,9}))*))");
  std::size_t begin = 0;
  while (begin < specs.size()) {
    const std::size_t end = std::min(specs.find(';', begin), specs.size());
    const std::string spec = specs.substr(begin, end - begin);
    begin = end + 1;
    std::smatch match;
    if (!std::regex_match(spec, match, form))
      throw_usage("--inject {}: must look like delay@rank1:30ms or delay@*:0-20ms[,phase=data|compute][,p=0.05]", spec);
    Delay delay;
    try {
      delay.least_ms = std::stod(match[2]);
      delay.most_ms = match[3].matched ? std::stod(match[3]) : delay.least_ms;
      const std::string options = match[4];
      if (options.find("phase=data") != std::string::npos) delay.phase = FaultPhase::data;
      if (const std::size_t p = options.find(",p="); p != std::string::npos)
        delay.probability = std::stod(options.substr(p + 3));
    } catch (const std::exception&) {
      throw_usage("--inject {}: a number in it cannot be read", spec);
    }
    if (delay.most_ms < delay.least_ms || delay.probability > 1)
      throw_usage("--inject {}: the range must rise and p be at most 1", spec);
    if (!match[1].matched || std::stoi(match[1]) == rank) delays_.push_back(delay);
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
