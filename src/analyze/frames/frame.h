// One captured frame, decoded: what every check looks at. Plain numbers in host order; made anew for each packet by
// decode.h, so nothing here owns memory. What a snapped frame does not hold any more is absent, never guessed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/opcode.h"

namespace weft::analyze {

// Numbers that the analysis gives out: where it was captured (an interface of a file), which address.
using PointId = std::uint32_t;
using AddressId = std::uint32_t;
inline constexpr std::uint32_t kNone = 0xffffffff;

enum class FrameKind : std::uint8_t {
  kRoce,   // RoCEv1, RoCEv2 or native InfiniBand: the BTH is there
  kUet,    // Ultra Ethernet transport on UDP 4793
  kPfc,    // priority-based flow control
  kPause,  // 802.3x
  kTcp,
  kOtherIp,
  kOther,       // ARP, LLDP, ...
  kUnreadable,  // cut or malformed before its kind was known
};

enum class Encapsulation : std::uint8_t { kRoceV2, kRoceV1, kInfiniBand };
enum class Tunnel : std::uint8_t { kNoTunnel, kErspan1, kErspan2, kErspan3, kVxlan };
enum class Direction : std::uint8_t { kUnknown, kIn, kOut };  // of the interface
enum class IcrcState : std::uint8_t { kNotChecked, kGood, kBad };

// Faults of the frame itself (check "integrity").
enum FrameProblem : std::uint16_t {
  kIpLength = 1 << 0,          // IP total length beyond the frame, or not that of UDP
  kUdpLength = 1 << 1,         // UDP length not that of the IP payload
  kPadCount = 1 << 2,          // PadCnt does not bring the payload to four bytes, or is more than there is
  kTooShort = 1 << 3,          // ends before the headers of its opcode
  kUnknownOpcode = 1 << 4,     // reserved
  kOtherOpcode = 1 << 8,       // defined elsewhere: FLUSH, ATOMIC WRITE, RD, of a manufacturer
  kTransportVersion = 1 << 5,  // TVer is not 0
  kIpChecksum = 1 << 6,
  kUdpChecksum = 1 << 9,
  kFragment = 1 << 7,  // a fragment of an IP packet: RoCE is never fragmented
};

// The session of a switch that mirrored a frame. Switches number their sessions alike.
struct MirrorSession {
  AddressId source = kNone;  // kNone: not mirrored, or by a port that only copies
  std::uint32_t session = 0;
  friend bool operator==(const MirrorSession&, const MirrorSession&) = default;
};

struct Frame {
  std::uint64_t number = 0;  // of all files together, from 1, as Wireshark counts
  std::int64_t time_ns = 0;  // since 1970
  PointId point = 0;
  Direction direction = Direction::kUnknown;
  FrameKind kind = FrameKind::kUnreadable;
  Tunnel tunnel = Tunnel::kNoTunnel;
  std::uint16_t problems = 0;  // FrameProblem
  std::uint32_t wire_B = 0;    // length of the frame on the wire, without FCS; of what is inside a tunnel
  std::uint32_t captured_B = 0;
  bool cut = false;  // the capture holds less than was on the wire

  // Ethernet
  std::uint64_t src_mac = 0, dst_mac = 0;  // 48 bits; 0 where the link type has none
  std::int32_t vlan_tci = -1;              // of the inner tag; -1: none
  std::int32_t outer_vlan_tci = -1;
  std::uint16_t ether_type = 0;

  // IP, or the GRH
  std::uint8_t ip_version = 0;  // 0: none
  std::uint8_t tos = 0, ttl = 0, ip_protocol = 0;
  AddressId src = kNone, dst = kNone;
  std::uint32_t flow_label = 0;
  std::uint16_t src_port = 0, dst_port = 0;  // UDP or TCP
  std::span<const std::uint8_t> ip;          // the captured part of the IP packet, from its header on

  // BTH and what follows; meaningful where kind is kRoce
  Encapsulation encapsulation = Encapsulation::kRoceV2;
  IcrcState icrc = IcrcState::kNotChecked;
  wire::Opcode opcode{};
  bool solicited = false, mig_req = false, fecn = false, becn = false, ack_req = false;
  std::uint8_t pad_B = 0;
  std::uint16_t p_key = 0;
  std::uint32_t dest_qp = 0, psn = 0;
  std::uint32_t payload_B = 0;  // of the message, by the lengths on the wire, without pad
  // Extension headers that the opcode has and the capture holds; otherwise 0.
  bool has_reth = false, has_aeth = false, has_deth = false;
  std::uint64_t va = 0;
  std::uint32_t rkey = 0, dma_len = 0;
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;
  std::uint32_t qkey = 0, src_qp = 0;
  std::uint32_t imm = 0;
  // The captured part; of kUet and kTcp: from its own header on; of a CNP: its reserved bytes.
  std::span<const std::uint8_t> payload;

  bool is_trimmed = false;  // of kUet: a switch cut it short and sent it on

  // PFC: class_enable and quanta; 802.3x: quanta[0]
  std::uint8_t class_enable = 0;
  std::array<std::uint16_t, 8> quanta{};

  std::uint32_t tunnel_id = 0;                     // of the innermost tunnel: session or VNI
  MirrorSession mirror{};                          // the outermost one
  std::optional<std::uint32_t> mirror_sequence{};  // of GRE

  std::uint8_t dscp() const { return tos >> 2; }
  std::uint8_t ecn() const { return tos & 3; }  // 0 not-ECT, 1 ECT(1), 2 ECT(0), 3 CE
  bool ce() const { return ecn() == 3; }
  int pcp() const { return vlan_tci < 0 ? -1 : vlan_tci >> 13; }
  bool has(FrameProblem problem) const { return (problems & problem) != 0; }
  // Opcode without transport: RC and XRC alike.
  wire::Opcode operation() const { return wire::without_transport(static_cast<std::uint8_t>(opcode)); }
  // RC and XRC FLUSH and ATOMIC WRITE (IBTA annex A19): requests of one PSN whose headers are not looked into. Their
  // answer is a READ response of no bytes.
  bool is_flush() const { return is_reliable() && static_cast<std::uint8_t>(operation()) == 0x1c; }
  bool is_atomic_write() const { return is_reliable() && static_cast<std::uint8_t>(operation()) == 0x1d; }
  bool is_request() const { return wire::is_request(opcode) || is_flush() || is_atomic_write(); }
  bool is_cnp() const { return kind == FrameKind::kRoce && opcode == wire::Opcode::kCnp; }
  bool is_reliable() const {
    return kind == FrameKind::kRoce &&
           (static_cast<std::uint8_t>(opcode) < wire::kUcTransport || wire::is_xrc(static_cast<std::uint8_t>(opcode)));
  }
};

}  // namespace weft::analyze
