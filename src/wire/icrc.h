// Invariant CRC of RoCE packets (IBTA vol 1, 7.8.1; Annex A17 for RoCEv2): CRC-32 over eight
// bytes of ones, then the packet from its IP header with every field that a router may change
// replaced by ones: IPv4 TOS, TTL, checksum; IPv6 traffic class, flow label, hop limit; UDP
// checksum; BTH byte 4 (FECN, BECN, reserved). The payload is read once and never copied.
// The value is stored low byte first (put_le32).
#pragma once

#include <cstdint>

#include "wire/bytes.h"

namespace weft::wire {

// `ip_packet_without_icrc` runs from the IPv4 (without options) or IPv6 header to the last pad
// byte, and holds at least the IP, UDP and BTH headers: a broken invariant otherwise.
std::uint32_t icrc(Bytes ip_packet_without_icrc);

// RoCEv1: from the GRH to the last pad byte.
std::uint32_t icrc_v1(Bytes grh_packet_without_icrc);

}  // namespace weft::wire
