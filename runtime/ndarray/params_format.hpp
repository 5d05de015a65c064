// Numbers of MXNet's NDArray list files, for the reader and the writer. Everything in them is little-endian.
#pragma once

#include <bit>
#include <cstdint>

namespace cohort::params_format {

static_assert(std::endian::native == std::endian::little, "list files are read and written without swapping bytes");

constexpr std::uint64_t list_magic = 0x112;

// The first word of an array; any other value is the number of axes of a V0 array.
constexpr std::uint32_t v1_magic = 0xF993FAC8;
constexpr std::uint32_t v2_magic = 0xF993FAC9;
constexpr std::uint32_t v3_magic = 0xF993FACA;

constexpr std::int32_t max_axes = 32;

enum StorageType : std::int32_t { dense = 0, row_sparse = 1, csr = 2 };

constexpr std::int32_t cpu_device = 1;

}  // namespace cohort::params_format
