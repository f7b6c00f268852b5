// CRC-32 of IEEE 802.3 (polynomial 0x04c11db7, reflected), with the CPU's instructions where it
// has them. The choice is made once, at run time, so a generic build uses what it finds.
// States chain: crc32_update(crc32_update(s, a), b) covers a then b. A finished CRC is
// ~crc32_update(kCrc32Init, bytes).
#pragma once

#include <cstdint>

#include "wire/bytes.h"

namespace weft::wire {

inline constexpr std::uint32_t kCrc32Init = 0xffffffff;

enum class Crc32Method : std::uint8_t {
  kTable,      // slice-by-8 tables: every machine
  kArmCrc32,   // ARMv8 CRC32X
  kX86Pclmul,  // PCLMULQDQ folding (Gopal et al., Intel 2009)
};

bool is_available(Crc32Method method);
Crc32Method best_crc32_method();
const char* name(Crc32Method method);

std::uint32_t crc32_update(std::uint32_t state, Bytes bytes);
// For tests and benchmarks; `method` must be available.
std::uint32_t crc32_update(Crc32Method method, std::uint32_t state, Bytes bytes);

}  // namespace weft::wire
