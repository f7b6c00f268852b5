// The CRC-32 kernels behind crc32.h; only crc32.cc and the kernels include this. A kernel that the
// target cannot have is still declared: is_available() keeps it from being called.
#pragma once

#include <cstdint>

#include "wire/bytes.h"

namespace weft::wire::detail {

std::uint32_t crc32_table(std::uint32_t state, Bytes bytes);

bool has_arm_crc32();
std::uint32_t crc32_arm(std::uint32_t state, Bytes bytes);

bool has_x86_pclmul();
std::uint32_t crc32_x86(std::uint32_t state, Bytes bytes);

}  // namespace weft::wire::detail
