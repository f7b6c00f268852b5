// The AETH syndrome byte (IBTA vol 1, 9.7.5.1.2): bit 7 is 0, bits 6-5 the kind,
// bits 4-0 a credit code (ACK), a timer code (RNR NAK) or an error code (NAK).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace weft::wire {

enum class AethKind : std::uint8_t { kAck = 0, kRnrNak = 1, kReserved = 2, kNak = 3 };

enum class NakCode : std::uint8_t {
  kPsnSequenceError = 0,
  kInvalidRequest = 1,
  kRemoteAccessError = 2,
  kRemoteOperationalError = 3,
  kInvalidRdRequest = 4,
};

// "no credit limit": what a responder with an SRQ, and most NICs, put into an ACK.
inline constexpr std::uint8_t kCreditCodeUnlimited = 31;

constexpr AethKind aeth_kind(std::uint8_t syndrome) {
  return (syndrome & 0x80) != 0 ? AethKind::kReserved : static_cast<AethKind>(syndrome >> 5 & 3);
}
// The low five bits: credit code, timer code or error code.
constexpr std::uint8_t aeth_value(std::uint8_t syndrome) {
  return syndrome & 0x1f;
}

constexpr std::uint8_t ack_syndrome(std::uint8_t credit_code = kCreditCodeUnlimited) {
  return credit_code & 0x1f;
}
constexpr std::uint8_t rnr_nak_syndrome(std::uint8_t timer_code) {
  return static_cast<std::uint8_t>(0x20 | (timer_code & 0x1f));
}
constexpr std::uint8_t nak_syndrome(NakCode code) {
  return static_cast<std::uint8_t>(0x60 | static_cast<std::uint8_t>(code));
}

// nullopt for an error code that the standard does not define.
constexpr std::optional<NakCode> nak_code(std::uint8_t syndrome) {
  if (aeth_kind(syndrome) != AethKind::kNak || aeth_value(syndrome) > 4) return std::nullopt;
  return static_cast<NakCode>(aeth_value(syndrome));
}

namespace detail {
inline constexpr std::array<std::uint16_t, 31> kCreditTable = {
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};
// In units of 10 us; code 0 is the longest.
inline constexpr std::array<std::uint32_t, 32> kRnrTimerTable_10us = {
    65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
    256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
}  // namespace detail

// Receive work requests that the responder can take beyond the MSN; nullopt = no limit.
constexpr std::optional<std::uint32_t> credits_of_code(std::uint8_t credit_code) {
  if ((credit_code & 0x1f) == kCreditCodeUnlimited) return std::nullopt;
  return detail::kCreditTable[credit_code & 0x1f];
}

// The largest code that promises no more than `credits`.
constexpr std::uint8_t code_of_credits(std::uint32_t credits) {
  std::uint8_t code = 30;
  while (detail::kCreditTable[code] > credits) --code;
  return code;
}

// Least time to wait before the request is retransmitted.
constexpr Time_ps rnr_timer_ps(std::uint8_t timer_code) {
  return us(10 * std::int64_t{detail::kRnrTimerTable_10us[timer_code & 0x1f]});
}

// The shortest code that waits at least `wait_ps` (0, the longest, where none does).
constexpr std::uint8_t rnr_timer_code(Time_ps wait_ps) {
  for (std::uint8_t code = 1; code < 32; ++code) {
    if (rnr_timer_ps(code) >= wait_ps) return code;
  }
  return 0;
}

// "ACK", "RNR NAK", "NAK PSN sequence error", ...
const char* describe_syndrome(std::uint8_t syndrome);

}  // namespace weft::wire
