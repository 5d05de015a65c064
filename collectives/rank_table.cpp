#include "collectives/rank_table.hpp"

#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <map>

namespace cohort {
namespace {

// A record as it travels.
struct PackedRecord {
  std::int64_t pid;
  std::int64_t memory_leader;
  std::array<char, 256> host;
  std::array<char, 96> library;
  std::array<char, 48> build_id;
};

template <std::size_t size>
void pack(std::array<char, size>& field, const std::string& text) {
  field.fill('\0');
  std::memcpy(field.data(), text.data(), std::min(text.size(), size - 1));
}

// The linker's own fingerprint of the program, in hexadecimal.
std::string build_id_of(const dl_phdr_info& program) {
  for (int i = 0; i < program.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = program.dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    // The loader gives addresses as numbers.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto* place = reinterpret_cast<const char*>(program.dlpi_addr + header.p_vaddr);
    const char* const end = place + header.p_memsz;
    const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
    while (place + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, place, sizeof note);
      const char* const name = place + sizeof note;
      const char* const value = name + padded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        std::string text;
        for (std::size_t byte = 0; byte < note.n_descsz; ++byte)
          text += fmt::format("{:02x}", static_cast<unsigned char>(value[byte]));
        return text;
      }
      place = value + padded(note.n_descsz);
    }
  }
  return {};
}

// "Open MPI 4.1" of "Open MPI 4.1.4".
std::string without_patch(const std::string& library) {
  const std::size_t first = library.find('.');
  return first == std::string::npos ? library : library.substr(0, library.find('.', first + 1));
}

std::string place_of(std::span<const RankRecord> records, std::size_t rank) {
  return rank_name(static_cast<int>(rank), records[rank].host, records[rank].pid);
}

// The node of every rank: what shares memory, or the pretended nodes, numbered in order of their first rank.
std::vector<int> number_nodes(std::span<const RankRecord> records, std::span<const int> ranks_per_node) {
  std::vector<int> nodes;
  if (ranks_per_node.empty()) {
    std::map<int, int> number_of_leader;
    for (const RankRecord& record : records)
      nodes.push_back(number_of_leader.try_emplace(record.memory_leader, number_of_leader.size()).first->second);
    return nodes;
  }
  std::int64_t promised = 0;
  for (const int size : ranks_per_node) {
    if (size < 1) throw_usage("a node of {} ranks: every size of the pretended nodes must be at least 1", size);
    promised += size;
  }
  const auto ranks = static_cast<std::int64_t>(records.size());
  // One size is that of all nodes; the last one takes what is left.
  if (ranks_per_node.size() > 1 && promised != ranks)
    throw_usage("pretended nodes of {} ranks are {} ranks together; there are {}", fmt::join(ranks_per_node, ", "),
                promised, ranks);
  for (std::size_t node = 0; nodes.size() < records.size(); ++node) {
    const int size = ranks_per_node[std::min(node, ranks_per_node.size() - 1)];
    for (int i = 0; i < size && nodes.size() < records.size(); ++i) nodes.push_back(static_cast<int>(node));
  }
  return nodes;
}

}  // namespace

std::string rank_name(int rank, const std::string& host, long pid) {
  return fmt::format("rank {} ({}:{})", rank, host, pid);
}

RankRecord local_record() {
  RankRecord record;
  record.pid = ::getpid();
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) record.host = host.data();
  const auto visit = [](dl_phdr_info* program, std::size_t, void* result) {
    *static_cast<std::string*>(result) = build_id_of(*program);
    return 1;  // the program itself comes first
  };
  dl_iterate_phdr(visit, &record.build_id);
  return record;
}

std::vector<RankRecord> gather_records(Communicator& all, const RankRecord& mine) {
  PackedRecord packed{};
  packed.pid = mine.pid;
  packed.memory_leader = mine.memory_leader;
  pack(packed.host, mine.host);
  pack(packed.library, mine.library);
  pack(packed.build_id, mine.build_id);
  std::vector<PackedRecord> gathered(static_cast<std::size_t>(all.size()));
  const auto bytes = static_cast<std::int64_t>(sizeof packed);
  all.allgather(view_of(reinterpret_cast<const std::uint8_t*>(&packed), bytes),
                view_of(reinterpret_cast<std::uint8_t*>(gathered.data()), bytes * all.size()), "the rank table");
  std::vector<RankRecord> records;
  records.reserve(gathered.size());
  for (const PackedRecord& one : gathered)
    records.push_back({static_cast<int>(one.memory_leader), static_cast<long>(one.pid), one.host.data(),
                       one.library.data(), one.build_id.data()});
  return records;
}

std::vector<RankInfo> make_rank_table(std::span<const RankRecord> records, std::span<const int> ranks_per_node) {
  const std::vector<int> nodes = number_nodes(records, ranks_per_node);
  std::vector<RankInfo> table;
  std::map<int, std::size_t> first_rank_of_node;
  std::map<int, int> node_sizes;
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    const int node = nodes[rank];
    const std::size_t first = first_rank_of_node.try_emplace(node, rank).first->second;
    if (records[first].memory_leader != records[rank].memory_leader)
      throw_usage("pretended node {} holds {} and {}, which share no memory: choose sizes that divide the hosts", node,
                  place_of(records, first), place_of(records, rank));
    table.push_back({static_cast<int>(rank), node, node_sizes[node]++, records[rank].host, records[rank].pid});
  }
  return table;
}

std::string check_same_program(std::span<const RankRecord> records) {
  std::string warning;
  for (std::size_t rank = 1; rank < records.size(); ++rank) {
    const RankRecord& first = records[0];
    const RankRecord& other = records[rank];
    if (first.build_id != other.build_id)
      throw_usage("{} and {} run different builds of the program: build id {} and {}", place_of(records, 0),
                  place_of(records, rank), first.build_id, other.build_id);
    if (first.library == other.library) continue;
    const std::string difference = fmt::format("{} has {}, {} has {}", place_of(records, 0), first.library,
                                               place_of(records, rank), other.library);
    if (without_patch(first.library) != without_patch(other.library))
      throw_usage("different MPI libraries: {}", difference);
    if (warning.empty()) warning = "different patch versions of the MPI library: " + difference;
  }
  return warning;
}

}  // namespace cohort
