// CRC-32 by carry-less multiplication: Gopal et al., "Fast CRC Computation for Generic Polynomials
// Using PCLMULQDQ Instruction", Intel 2009, the bit-reflected form. Four 128-bit lanes are folded
// 64 bytes at a time, then into one, then 16 bytes at a time, then reduced (Barrett) to 32 bits.
#include "wire/crc32_methods.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace weft::wire::detail {
namespace {

#define WEFT_TARGET_PCLMUL __attribute__((target("pclmul,sse4.1")))

// x^n mod P, bit-reflected; the paper's k1..k5, P and mu for polynomial 0x04c11db7.
constexpr long long kFold64Low = 0x154442bd4;   // x^(4*128+32)
constexpr long long kFold64High = 0x1c6e41596;  // x^(4*128-32)
constexpr long long kFold16Low = 0x1751997d0;   // x^(128+32)
constexpr long long kFold16High = 0x0ccaa009e;  // x^(128-32)
constexpr long long kFold8 = 0x163cd6124;       // x^64
constexpr long long kPolynomial = 0x1db710641;
constexpr long long kMu = 0x1f7011641;

WEFT_TARGET_PCLMUL inline __m128i load(const std::uint8_t* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

// `lane` moved past as many bytes as `by` stands for, plus what is there.
WEFT_TARGET_PCLMUL inline __m128i fold(__m128i lane, __m128i by, __m128i there) {
  const __m128i low = _mm_clmulepi64_si128(lane, by, 0x00);
  const __m128i high = _mm_clmulepi64_si128(lane, by, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), there);
}

// `size_B` is a multiple of 16 and at least 64.
WEFT_TARGET_PCLMUL std::uint32_t fold_blocks(std::uint32_t state, const std::uint8_t* at, std::size_t size_B) {
  __m128i lane0 = _mm_xor_si128(load(at), _mm_cvtsi32_si128(static_cast<int>(state)));
  __m128i lane1 = load(at + 16);
  __m128i lane2 = load(at + 32);
  __m128i lane3 = load(at + 48);
  at += 64;
  size_B -= 64;

  const __m128i by64 = _mm_set_epi64x(kFold64High, kFold64Low);
  for (; size_B >= 64; at += 64, size_B -= 64) {
    lane0 = fold(lane0, by64, load(at));
    lane1 = fold(lane1, by64, load(at + 16));
    lane2 = fold(lane2, by64, load(at + 32));
    lane3 = fold(lane3, by64, load(at + 48));
  }

  const __m128i by16 = _mm_set_epi64x(kFold16High, kFold16Low);
  __m128i lane = fold(fold(fold(lane0, by16, lane1), by16, lane2), by16, lane3);
  for (; size_B >= 16; at += 16, size_B -= 16) lane = fold(lane, by16, load(at));

  // 128 bits to 64, then Barrett reduction to 32.
  const __m128i low32 = _mm_setr_epi32(-1, 0, -1, 0);
  lane = _mm_xor_si128(_mm_srli_si128(lane, 8), _mm_clmulepi64_si128(lane, by16, 0x10));
  lane = _mm_xor_si128(_mm_srli_si128(lane, 4),
                       _mm_clmulepi64_si128(_mm_and_si128(lane, low32), _mm_set_epi64x(0, kFold8), 0x00));
  const __m128i reduce = _mm_set_epi64x(kMu, kPolynomial);
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(lane, low32), reduce, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low32), reduce, 0x00);
  return static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(lane, quotient), 1));
}

}  // namespace

bool has_x86_pclmul() {
  return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

std::uint32_t crc32_x86(std::uint32_t state, Bytes bytes) {
  const std::size_t folded_B = bytes.size() & ~std::size_t{15};
  if (folded_B < 64) return crc32_table(state, bytes);
  return crc32_table(fold_blocks(state, bytes.data(), folded_B), bytes.subspan(folded_B));
}

}  // namespace weft::wire::detail

#else

namespace weft::wire::detail {

bool has_x86_pclmul() {
  return false;
}
std::uint32_t crc32_x86(std::uint32_t state, Bytes bytes) {
  return crc32_table(state, bytes);
}

}  // namespace weft::wire::detail

#endif
