// CRC-32 with the ARMv8 CRC32 instructions, found at run time so that a generic build has them.
#include "wire/crc32_methods.h"

#if defined(__aarch64__) && defined(__linux__)

#include <asm/hwcap.h>
#include <sys/auxv.h>

#include <cstring>

// The builtins, because arm_acle.h of clang hides __crc32d unless the whole file is built for it.
#if defined(__clang__)
#define WEFT_TARGET_CRC __attribute__((target("crc")))
#define WEFT_CRC32B __builtin_arm_crc32b
#define WEFT_CRC32D __builtin_arm_crc32d
#else
#define WEFT_TARGET_CRC __attribute__((target("+crc")))
#define WEFT_CRC32B __builtin_aarch64_crc32b
#define WEFT_CRC32D __builtin_aarch64_crc32x
#endif

namespace weft::wire::detail {

bool has_arm_crc32() {
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
}

WEFT_TARGET_CRC std::uint32_t crc32_arm(std::uint32_t state, Bytes bytes) {
  const std::uint8_t* at = bytes.data();
  std::size_t left_B = bytes.size();
  for (; left_B >= 8; at += 8, left_B -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    state = WEFT_CRC32D(state, word);
  }
  for (; left_B > 0; ++at, --left_B) state = WEFT_CRC32B(state, *at);
  return state;
}

}  // namespace weft::wire::detail

#else

namespace weft::wire::detail {

bool has_arm_crc32() {
  return false;
}
std::uint32_t crc32_arm(std::uint32_t state, Bytes bytes) {
  return crc32_table(state, bytes);
}

}  // namespace weft::wire::detail

#endif
