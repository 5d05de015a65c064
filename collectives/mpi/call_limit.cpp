#include "collectives/mpi/call_limit.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "collectives/rank_table.hpp"
#include "kernels/base/log.hpp"

namespace cohort::mpi {
namespace {

[[noreturn]] void end_late_call(std::chrono::milliseconds limit, const std::string& what) {
  std::string who;
  if (identity_prefix().empty()) {  // the ranks are not known yet
    const RankRecord me = local_record();
    who = fmt::format("{}:{}: ", me.host, me.pid);
  }
  log_failure(
      fmt::format("{}timeout: this process has not {} within {} s: a rank is missing, stopped or cannot be reached",
                  who, what, static_cast<double>(limit.count()) / 1000));
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

CallLimit::CallLimit(std::chrono::milliseconds limit, std::string what)
    : watchdog_(limit, [limit, what = std::move(what)] { end_late_call(limit, what); }) {}

}  // namespace cohort::mpi
