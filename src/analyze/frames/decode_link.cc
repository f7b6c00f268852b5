// First bytes of a captured packet, by link type: Ethernet, Linux cooked, BSD loopback, raw IP, ERF
// records, InfiniBand from the local route header on.
#include "analyze/frames/decoder.h"
#include "analyze/frames/erf.h"
#include "pcap/link_type.h"
#include "wire/ethernet.h"
#include "wire/pfc.h"

namespace weft::analyze::detail {
namespace {

using wire::be16;
using wire::be32;
using wire::Bytes;

constexpr std::uint16_t kServiceTag = 0x88a8, kOldServiceTag = 0x9100;

std::uint64_t mac_number(Bytes b, std::size_t at) {
  return std::uint64_t{be16(b, at)} << 32 | be32(b, at + 2);
}

bool is_vlan_tag(std::uint16_t type) {
  return type == wire::kEtherTypeVlan || type == kServiceTag || type == kOldServiceTag;
}

}  // namespace

void Decoder::link(std::uint16_t link_type, Rest rest) {
  switch (link_type) {
    case pcap::kLinkTypeEthernet:
      return ethernet(rest);
    case pcap::kLinkTypeLinuxCooked:
      return linux_cooked(rest);
    case pcap::kLinkTypeLinuxCooked2:
      return linux_cooked2(rest);
    case pcap::kLinkTypeNull:
      return bsd_loopback(rest);
    case pcap::kLinkTypeRaw:
    case pcap::kLinkTypeRawDlt:
    case pcap::kLinkTypeIpv4:
    case pcap::kLinkTypeIpv6:
      return raw_ip(rest);
    case pcap::kLinkTypeErf:
      return erf(rest);
    case pcap::kLinkTypeInfiniBand:
      return infiniband(rest);
    default:
      frame_.kind = FrameKind::kOther;
  }
}

void Decoder::ethernet(Rest rest) {
  if (rest.bytes.size() < wire::kEthernetSize_B) return;
  has_ethernet_ = true;
  frame_.dst_mac = mac_number(rest.bytes, 0);
  frame_.src_mac = mac_number(rest.bytes, 6);
  tagged(be16(rest.bytes, 12), rest.after(wire::kEthernetSize_B));
}

// Any number of 802.1Q and 802.1ad tags: the innermost counts, and the one before it is kept.
void Decoder::tagged(std::uint16_t type, Rest rest) {
  while (is_vlan_tag(type)) {
    if (rest.bytes.size() < wire::kVlanTagSize_B) return;
    frame_.outer_vlan_tci = frame_.vlan_tci;
    frame_.vlan_tci = be16(rest.bytes, 0);
    type = be16(rest.bytes, 2);
    rest = rest.after(wire::kVlanTagSize_B);
  }
  ether_type(type, rest);
}

// tcpdump -i any: who sent the packet is there, whom it was sent to is not.
void Decoder::linux_cooked(Rest rest) {
  constexpr std::size_t kSize_B = 16;
  if (rest.bytes.size() < kSize_B) return;
  cooked_origin(be16(rest.bytes, 0), rest.bytes.subspan(6), be16(rest.bytes, 4));
  tagged(be16(rest.bytes, 14), rest.after(kSize_B));
}

void Decoder::linux_cooked2(Rest rest) {
  constexpr std::size_t kSize_B = 20;
  if (rest.bytes.size() < kSize_B) return;
  cooked_origin(rest.bytes[10], rest.bytes.subspan(12), rest.bytes[11]);
  tagged(be16(rest.bytes, 0), rest.after(kSize_B));
}

void Decoder::cooked_origin(unsigned packet_type, Bytes address, std::size_t address_B) {
  constexpr unsigned kOutgoing = 4;
  if (frame_.direction == Direction::kUnknown && packet_type <= kOutgoing) {
    frame_.direction = packet_type == kOutgoing ? Direction::kOut : Direction::kIn;
  }
  if (address_B == 6) frame_.src_mac = mac_number(address, 0);
}

// An address family in the byte order of the machine that captured; its number for IPv6 differs between systems.
void Decoder::bsd_loopback(Rest rest) {
  if (rest.bytes.size() >= 4) raw_ip(rest.after(4));
}

void Decoder::raw_ip(Rest rest) {
  if (rest.bytes.empty()) return;
  if (rest.bytes[0] >> 4 == 6) {
    ether_type(wire::kEtherTypeIpv6, rest);
  } else {
    ether_type(wire::kEtherTypeIpv4, rest);
  }
}

// A record of Endace's Extensible Record Format: 16 bytes, extension headers of 8, then what its type says.
void Decoder::erf(Rest rest) {
  constexpr std::size_t kHeader_B = 16, kExtension_B = 8, kEthernetPad_B = 2;
  constexpr std::uint8_t kMore = 0x80;
  if (rest.bytes.size() < kHeader_B) return;
  const std::uint8_t type = rest.bytes[8];
  const std::size_t wire_B = be16(rest.bytes, 14);
  bool more = (type & kMore) != 0;
  rest = rest.after(kHeader_B);
  while (more) {
    if (rest.bytes.size() < kExtension_B) return;
    more = (rest.bytes[0] & kMore) != 0;
    rest = rest.after(kExtension_B);
  }
  const std::uint8_t base_type = type & 0x7f;
  const bool is_ethernet = is_erf_ethernet(base_type);
  if (is_ethernet) rest = rest.after(kEthernetPad_B);
  // Bytes on the wire; the record is padded to eight bytes behind them.
  rest.bytes = rest.bytes.first(std::min(rest.bytes.size(), wire_B));
  rest.wire_B = wire_B;
  frame_.wire_B = static_cast<std::uint32_t>(wire_B);
  frame_.cut = rest.bytes.size() < wire_B;
  if (is_ethernet) {
    ethernet(rest);
  } else if (is_erf_infiniband(base_type)) {
    infiniband(rest);
  } else if (is_erf_ip(base_type)) {
    raw_ip(rest);
  } else {
    frame_.kind = FrameKind::kOther;
  }
}

// Local route header, where it says so the global one, BTH, ICRC, VCRC (IBTA vol 1, 7.7). Within a subnet a packet has
// local identifiers only, which stand in for addresses. The ICRC is not checked: it covers fields of the LRH.
void Decoder::infiniband(Rest rest) {
  constexpr std::size_t kLrh_B = 8, kGrh_B = 40;
  constexpr unsigned kLocal = 2, kGlobal = 3;
  if (rest.bytes.size() < kLrh_B) return;
  frame_.kind = FrameKind::kOther;  // raw packets
  const unsigned next = rest.bytes[1] & 3;
  if (next != kLocal && next != kGlobal) return;
  frame_.src = addresses_.id_of_lid(be16(rest.bytes, 6));
  frame_.dst = addresses_.id_of_lid(be16(rest.bytes, 2));
  const std::size_t size_B = (be16(rest.bytes, 4) & std::size_t{0x7ff}) * 4;  // from the LRH to the ICRC
  if (size_B < kLrh_B || size_B > rest.wire_B) {
    frame_.problems |= kIpLength;
    return;
  }
  frame_.ether_type = wire::kEtherTypeRoceV1;
  frame_.encapsulation = Encapsulation::kInfiniBand;
  rest = rest.first(size_B).after(kLrh_B);
  if (next == kGlobal) {
    if (rest.bytes.size() < kGrh_B) {
      frame_.kind = FrameKind::kUnreadable;
      return;
    }
    network_header(rest.bytes, 0);
    rest = rest.after(kGrh_B);
  }
  decode_transport(rest.bytes, rest.wire_B, frame_);
}

void Decoder::mac_control(Rest rest) {
  if (rest.bytes.size() < 4) return;
  const std::uint16_t operation = be16(rest.bytes, 0);
  if (operation == wire::kMacControlPause) {
    frame_.kind = FrameKind::kPause;
    frame_.quanta[0] = be16(rest.bytes, 2);
  } else if (operation == wire::kMacControlPfc && rest.bytes.size() >= 20) {
    frame_.kind = FrameKind::kPfc;
    frame_.class_enable = rest.bytes[3];
    for (std::size_t i = 0; i < 8; ++i) frame_.quanta[i] = be16(rest.bytes, 4 + 2 * i);
  }
}

}  // namespace weft::analyze::detail
