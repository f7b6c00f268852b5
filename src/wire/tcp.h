// TCP header with the options that Linux sends (RFC 9293; MSS, window scale and timestamps RFC 7323, SACK RFC 2018),
// and the checksum over header, payload and pseudo-header. Only written: nothing here reads TCP from the outside.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/bytes.h"

namespace weft::wire {

inline constexpr std::uint8_t kIpProtocolTcp = 6;
inline constexpr std::size_t kTcpSize_B = 20;
inline constexpr std::size_t kTcpMostSack = 3;  // blocks beside timestamps

enum TcpFlag : std::uint8_t {
  kTcpFin = 0x01,
  kTcpSyn = 0x02,
  kTcpRst = 0x04,
  kTcpPsh = 0x08,
  kTcpAck = 0x10,
  kTcpEce = 0x40,
  kTcpCwr = 0x80,
};

struct TcpSackBlock {
  std::uint32_t begin = 0, end = 0;
};

struct TcpHeader {
  std::uint16_t src_port = 0, dst_port = 0;
  std::uint32_t sequence = 0, acknowledgment = 0;
  std::uint8_t flags = 0;
  std::uint16_t window = 0;
  // With kTcpSyn: MSS, SACK permitted, timestamps, window scale.
  std::uint16_t mss_B = 0;
  std::uint8_t window_scale = 0;
  std::uint32_t ts_value = 0, ts_echo = 0;
  std::uint8_t sack_count = 0;
  std::array<TcpSackBlock, kTcpMostSack> sack{};
};

// With its options, a multiple of 4.
constexpr std::size_t tcp_header_B(bool syn, std::size_t sack_count) {
  if (syn) return kTcpSize_B + 20;
  return kTcpSize_B + 12 + (sack_count == 0 ? 0 : 4 + 8 * sack_count);
}

// Writes the header without its checksum and returns its size.
std::size_t write_tcp(const TcpHeader& header, MutableBytes out);
// Writes the checksum of `segment`, header and payload. IPv4 addresses are the last 4 bytes of ::ffff:a.b.c.d.
void write_tcp_checksum(const std::array<std::uint8_t, 16>& src, const std::array<std::uint8_t, 16>& dst, bool v4,
                        MutableBytes segment);

}  // namespace weft::wire
