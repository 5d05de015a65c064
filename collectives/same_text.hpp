// Whether all ranks hold the same text, and if not, where it differs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "collectives/communicator.hpp"

namespace cohort {

struct Disagreement {
  int rank = 0;  // the first rank whose text is not rank 0's
  std::string first;
  std::string other;
};

// Compares fingerprints first and moves texts only where those differ. Collective; the same result on every rank.
std::optional<Disagreement> find_disagreement(Communicator& all, const std::string& text);

// "rank 0 (a:12) has "lr 0.1", rank 2 (b:34) has "lr 0.2"": the first line that differs, cut to what fits a message.
std::string explain(const Disagreement& disagreement, std::string_view first_name, std::string_view other_name);

}  // namespace cohort
