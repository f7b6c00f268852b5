// Packet delivery sublayer of Ultra Ethernet transport (UE 1.0; UDP 4793): the fields that a capture is judged by. Read
// only: nothing here sends UET. Prologue 16 bits: type 5, next header or control type 4, flags 7. Behind the last
// header comes a CRC-32C of the packet from its source address on, big-endian, with the UDP checksum taken as 0.
#pragma once

#include <cstdint>
#include <optional>
#include <tl/expected.hpp>

#include "wire/bytes.h"
#include "wire/wire_error.h"

namespace weft::wire {

inline constexpr std::uint16_t kUetUdpPort = 4793;
inline constexpr std::uint8_t kIpProtocolUet = 253;  // for experiments (RFC 3692): none was assigned
inline constexpr std::size_t kUetEntropy_B = 4;      // before the prologue where there is no UDP
inline constexpr std::size_t kUetCrc_B = 4;

enum class PdsType : std::uint8_t {
  kTss = 1,  // encrypted: nothing behind it can be read
  kRudRequest = 2,
  kRodRequest = 3,
  kRudiRequest = 4,
  kRudiResponse = 5,
  kUudRequest = 6,
  kAck = 7,
  kAckCc = 8,
  kAckCcx = 9,
  kNack = 10,
  kControl = 11,
  kNackCcx = 12,
  kRudCcRequest = 13,
  kRodCcRequest = 14,
};

enum class UetNack : std::uint8_t { kTrimmed = 0x01, kTrimmedLastHop = 0x02, kTrimmedAck = 0x03 };

// Fields that the type does not have are 0.
struct Pds {
  PdsType type{};
  bool retransmitted = false;                       // flag RETX
  bool syn = false;                                 // of requests
  std::uint32_t psn = 0;                            // of a request, a NACK; of an ACK the cumulative one
  std::uint16_t source_id = 0, destination_id = 0;  // PDC identifiers of sender and receiver
  std::uint8_t nack_code = 0;
  // ACKs with congestion control state: bit n of the bitmap says that sack_psn + n has arrived.
  std::optional<std::uint32_t> sack_psn{};
  std::uint64_t sack_bitmap = 0;

  bool is_request() const {
    return type == PdsType::kRudRequest || type == PdsType::kRodRequest || type == PdsType::kRudCcRequest ||
           type == PdsType::kRodCcRequest;
  }
  bool is_ack() const { return type == PdsType::kAck || type == PdsType::kAckCc || type == PdsType::kAckCcx; }
  bool is_nack() const { return type == PdsType::kNack || type == PdsType::kNackCcx; }
};

// From the prologue on; the bytes may end anywhere behind the fields.
tl::expected<Pds, WireError> parse_pds(Bytes bytes);

// CRC of a whole IPv4 or IPv6 packet without the CRC at its end; extension headers of IPv6 count. `udp_at` is where its
// UDP header begins, nothing where UET follows IP itself (protocol 253).
std::uint32_t uet_crc(Bytes ip_packet_without_crc, std::optional<std::size_t> udp_at);
// CRC-32C (Castagnoli), first and last complemented.
std::uint32_t crc32c(Bytes bytes);

}  // namespace weft::wire
