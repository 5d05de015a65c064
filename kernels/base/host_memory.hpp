// How much memory this host has.
#pragma once

#include <cstdint>

namespace cohort {

// Bytes of physical memory of the host, whoever uses them now: what needs more can never run here.
std::uint64_t host_memory_bytes();

}  // namespace cohort
