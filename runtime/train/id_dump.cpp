#include "runtime/train/id_dump.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cohort {

IdDump::IdDump(World& world, const std::string& path) : world_(world), path_(path) {
  if (path.empty() || world.rank() != 0) return;
  file_ = open_for_writing(path);
  if (!file_) throw_usage("--dump-ids {}: cannot be written: {}", path, std::strerror(errno));
}

void IdDump::step(std::int64_t step, const Batch& batch) {
  if (path_.empty()) return;
  const auto ranks = static_cast<std::size_t>(world_.size());
  std::vector<std::int64_t> counts(ranks);
  world_.all().allgather(view_of(&batch.count, 1), view_of(counts.data(), world_.size()), "dump of sample ids");
  const auto most = static_cast<std::size_t>(*std::max_element(counts.begin(), counts.end()));
  std::vector<std::int64_t> mine(most);
  std::copy(batch.ids.begin(), batch.ids.end(), mine.begin());
  std::vector<std::int64_t> all(most * ranks);
  world_.all().allgather(view_of(static_cast<const std::int64_t*>(mine.data()), static_cast<std::int64_t>(most)),
                         view_of(all.data(), static_cast<std::int64_t>(all.size())), "dump of sample ids");
  if (!file_) return;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::string line = fmt::format("{} {}", step, rank);
    for (std::int64_t i = 0; i < counts[rank]; ++i)
      line += fmt::format(" {}", all[rank * most + static_cast<std::size_t>(i)]);
    if (std::fputs((line + "\n").c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0)
      COHORT_FAIL(io, "cannot write {}: {}", path_, std::strerror(errno));
  }
}

}  // namespace cohort
