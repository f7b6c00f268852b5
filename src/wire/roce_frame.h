// Whole RoCEv2 frames (IBTA Annex A17) and RoCEv1 frames (Annex A16), without Ethernet FCS:
//   Ethernet [802.1Q] | IPv4 or IPv6 | UDP 4791 | BTH | extension headers | payload | pad | ICRC
//   Ethernet [802.1Q] | GRH                     | BTH | extension headers | payload | pad | ICRC
// A frame that parses is rebuilt byte for byte from its parsed form, unless one of the marks of
// RoceFrame reports anomalies (icrc_ok, ipv4_checksum_ok, udp_checksum, pad, trailer) or it is
// a CNP without BECN.
// Called where bytes are needed: taps, captures, ports to the outside; never per hop.
// Not modelled: IPv4 options, IPv6 extension headers, stacked VLAN tags: they are errors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tl/expected.hpp>

#include "wire/bytes.h"
#include "wire/ethernet.h"
#include "wire/ipv6.h"
#include "wire/opcode.h"
#include "wire/wire_error.h"

namespace weft::wire {

// Everything of one frame except its payload.
struct RoceHeaders {
  MacAddress dst_mac{};
  MacAddress src_mac{};
  std::optional<std::uint16_t> vlan_tci{};

  IpAddress src_ip{};  // RoCEv1: source GID
  IpAddress dst_ip{};
  bool v4 = true;                // IPv4 uses the last four bytes of the addresses; RoCEv1 ignores this
  std::uint8_t tos = 0;          // IPv6, GRH: traffic class
  std::uint8_t ttl = 64;         // IPv6, GRH: hop limit
  std::uint16_t ip_id = 0;       // IPv4 only
  bool dont_fragment = true;     // IPv4 only
  std::uint32_t flow_label = 0;  // IPv6, GRH: 20 bits
  std::uint16_t src_port = 0;    // RoCEv2 only

  Opcode opcode = Opcode::kSendOnly;
  bool solicited = false;
  bool mig_req = false;
  bool ack_req = false;
  bool becn = false;  // the builder sets it on a CNP
  bool fecn = false;
  std::uint16_t p_key = 0xffff;
  std::uint32_t dest_qp = 0;  // 24 bits
  std::uint32_t psn = 0;      // 24 bits

  // Extension headers: those that the opcode has are used, the others are ignored and parse as 0.
  std::uint64_t va = 0;       // RETH, AtomicETH
  std::uint32_t rkey = 0;     // RETH, AtomicETH
  std::uint32_t dma_len = 0;  // RETH, bytes
  std::uint64_t swap_add = 0;
  std::uint64_t compare = 0;
  std::uint64_t atomic_original = 0;
  std::uint8_t aeth_syndrome = 0;
  std::uint32_t msn = 0;  // 24 bits
  std::uint32_t imm = 0;
  std::uint32_t ieth_rkey = 0;
  std::uint32_t qkey = 0;
  std::uint32_t src_qp = 0;   // 24 bits
  std::uint32_t xrc_srq = 0;  // XRCETH: number of the shared receive queue, 24 bits

  // Reserved bits that a receiver ignores (IBTA vol 1, 9.2), kept so that a capture of another NIC's
  // NIC shows what it put there.
  std::uint8_t bth_reserved6 = 0;
  std::uint8_t bth_reserved7 = 0;
  std::uint8_t deth_reserved = 0;
  std::uint8_t xrc_eth_reserved = 0;
  std::array<std::uint8_t, kCnpReservedSize_B> cnp_reserved{};

  friend bool operator==(const RoceHeaders&, const RoceHeaders&) = default;
};

struct RoceFrame {
  RoceHeaders headers;
  Bytes payload;  // of the message, without pad
  std::uint8_t pad_B = 0;
  std::array<std::uint8_t, 3> pad{};  // its first pad_B bytes; a NIC sends zeros
  std::uint32_t icrc = 0;             // as carried; see icrc.h for the byte order
  bool icrc_ok = false;
  std::uint16_t udp_checksum = 0;   // as carried; 0 = none. RoCEv1: 0
  std::uint16_t ipv4_checksum = 0;  // as carried. IPv6, RoCEv1: 0
  bool ipv4_checksum_ok = true;
  Bytes trailer;  // after the IP packet: Ethernet padding, or an FCS that the capture kept
};

// Without FCS, and not padded to the Ethernet minimum of 60: a zero-length SEND over IPv4 has 58 bytes
// until the MAC pads it.
std::size_t roce_frame_size_B(const RoceHeaders& headers, std::size_t payload_B);

// Writes the whole frame, with pad, IPv4 checksum, UDP checksum 0 and ICRC, to the start of `out`,
// which holds at least roce_frame_size_B, and returns its size. A CNP always
// carries BECN. `payload` must be empty where the opcode carries none; it may lie within `out`.
std::size_t build_roce_frame(const RoceHeaders& headers, Bytes payload, MutableBytes out);

// Do the first bytes say UDP to port 4791? Tells a broken RoCEv2 frame from one of another protocol.
bool is_rocev2(Bytes frame);

// Checks every length against every other. The result points into `frame`.
tl::expected<RoceFrame, WireError> parse_roce_frame(Bytes frame);

// RoCEv1 (EtherType 0x8915): src_ip and dst_ip are the GIDs of the GRH.
std::size_t rocev1_frame_size_B(const RoceHeaders& headers, std::size_t payload_B);
std::size_t build_rocev1_frame(const RoceHeaders& headers, Bytes payload, MutableBytes out);
tl::expected<RoceFrame, WireError> parse_rocev1_frame(Bytes frame);

}  // namespace weft::wire
