#include "analyze/decode.h"

#include <algorithm>

#include "pcap/pcapng_blocks.h"
#include "wire/ethernet.h"
#include "wire/icrc.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/pfc.h"
#include "wire/udp.h"

namespace weft::analyze {
namespace {

using wire::be16;
using wire::be32;
using wire::Bytes;

constexpr std::uint16_t kRocePort = 4791, kUetPort = 4793;
constexpr std::uint8_t kTcpProtocol = 6;
constexpr std::uint16_t kEtherTypeQinq = 0x88a8;
constexpr std::size_t kIpv6Header_B = 40, kIcrc_B = 4;

std::uint64_t mac_number(Bytes b, std::size_t at) {
  return std::uint64_t{be16(b, at)} << 32 | be32(b, at + 2);
}

// What is left to read: the captured bytes, and how many there were on the wire.
struct Rest {
  Bytes bytes;
  std::size_t wire_B;

  Rest after(std::size_t size_B) const {
    return {bytes.subspan(std::min(size_B, bytes.size())), wire_B - std::min(size_B, wire_B)};
  }
  Rest first(std::size_t size_B) const {
    return {bytes.first(std::min(size_B, bytes.size())), std::min(size_B, wire_B)};
  }
  bool whole() const { return bytes.size() == wire_B; }
};

class Decoder {
 public:
  Decoder(const DecodeOptions& options, Addresses& addresses, Frame& frame)
      : options_(options), addresses_(addresses), frame_(frame) {}

  void ethernet(Rest rest) {
    if (rest.bytes.size() < wire::kEthernetSize_B) return;
    frame_.dst_mac = mac_number(rest.bytes, 0);
    frame_.src_mac = mac_number(rest.bytes, 6);
    std::uint16_t type = be16(rest.bytes, 12);
    rest = rest.after(wire::kEthernetSize_B);
    while (type == wire::kEtherTypeVlan || type == kEtherTypeQinq) {
      if (rest.bytes.size() < wire::kVlanTagSize_B) return;
      frame_.outer_vlan_tci = frame_.vlan_tci;
      frame_.vlan_tci = be16(rest.bytes, 0);
      type = be16(rest.bytes, 2);
      rest = rest.after(wire::kVlanTagSize_B);
    }
    ether_type(type, rest);
  }

  void ether_type(std::uint16_t type, Rest rest) {
    frame_.ether_type = type;
    frame_.kind = FrameKind::kOther;
    if (type == wire::kEtherTypeIpv4) {
      ipv4(rest);
    } else if (type == wire::kEtherTypeIpv6) {
      ipv6(rest);
    } else if (type == wire::kEtherTypeRoceV1) {
      roce_v1(rest);
    } else if (type == wire::kEtherTypeMacControl) {
      mac_control(rest);
    }
  }

  void ipv4(Rest rest) {
    frame_.kind = FrameKind::kUnreadable;
    if (rest.bytes.size() < wire::kIpv4Size_B || rest.bytes[0] >> 4 != 4) return;
    const std::size_t header_B = static_cast<std::size_t>(rest.bytes[0] & 0xf) * 4;
    if (header_B < wire::kIpv4Size_B || rest.bytes.size() < header_B) return;
    const Bytes ip = rest.bytes;
    frame_.kind = FrameKind::kOtherIp;
    frame_.ip_version = 4;
    frame_.tos = ip[1];
    frame_.ttl = ip[8];
    frame_.ip_protocol = ip[9];
    frame_.src = addresses_.id_of(wire::ipv4_mapped(ip[12], ip[13], ip[14], ip[15]));
    frame_.dst = addresses_.id_of(wire::ipv4_mapped(ip[16], ip[17], ip[18], ip[19]));
    if ((be16(ip, 6) & 0x3fff) != 0) frame_.problems |= kFragment;
    if (wire::internet_checksum(ip.first(header_B)) != 0) frame_.problems |= kIpChecksum;
    const std::size_t total_B = be16(ip, 2);
    if (total_B < header_B || total_B > rest.wire_B) {
      frame_.problems |= kIpLength;
      if (total_B > rest.wire_B) above_ip(rest, header_B);  // a switch may have trimmed it
      return;
    }
    rest = rest.first(total_B);  // a short frame is padded behind it, and some captures keep the FCS
    above_ip(rest, header_B);
  }

  void ipv6(Rest rest) {
    frame_.kind = FrameKind::kUnreadable;
    if (rest.bytes.size() < kIpv6Header_B || rest.bytes[0] >> 4 != 6) return;
    const Bytes ip = rest.bytes;
    frame_.kind = FrameKind::kOtherIp;
    network_header(ip, 6);
    frame_.ip_protocol = ip[6];
    const std::size_t total_B = kIpv6Header_B + be16(ip, 4);
    if (total_B > rest.wire_B) {
      frame_.problems |= kIpLength;
      above_ip(rest, kIpv6Header_B);
      return;
    }
    rest = rest.first(total_B);
    above_ip(rest, kIpv6Header_B);
  }

 private:
  // IPv6 header and GRH have the same form.
  void network_header(Bytes ip, std::uint8_t version) {
    frame_.ip_version = version;
    frame_.tos = static_cast<std::uint8_t>(be16(ip, 0) >> 4);
    frame_.flow_label = be32(ip, 0) & 0xfffff;
    frame_.ttl = ip[7];
    wire::IpAddress address;
    std::copy_n(ip.begin() + 8, 16, address.begin());
    frame_.src = addresses_.id_of(address);
    std::copy_n(ip.begin() + 24, 16, address.begin());
    frame_.dst = addresses_.id_of(address);
  }

  void above_ip(Rest ip, std::size_t header_B) {
    const Rest rest = ip.after(header_B);
    frame_.ip = ip.bytes;
    if (frame_.ip_protocol == kTcpProtocol) {
      frame_.kind = FrameKind::kTcp;
      frame_.payload = rest.bytes;
      if (rest.bytes.size() >= 4) {
        frame_.src_port = be16(rest.bytes, 0);
        frame_.dst_port = be16(rest.bytes, 2);
      }
    } else if (frame_.ip_protocol == wire::kIpProtocolUdp) {
      udp(ip, rest);
    }
  }

  void udp(Rest ip, Rest rest) {
    if (rest.bytes.size() < wire::kUdpSize_B) return;
    frame_.src_port = be16(rest.bytes, 0);
    frame_.dst_port = be16(rest.bytes, 2);
    if (be16(rest.bytes, 4) != rest.wire_B) frame_.problems |= kUdpLength;
    rest = rest.after(wire::kUdpSize_B);
    if (frame_.dst_port == kUetPort) {
      frame_.kind = FrameKind::kUet;
      frame_.payload = rest.bytes;
    } else if (frame_.dst_port == kRocePort) {
      frame_.encapsulation = Encapsulation::kRoceV2;
      detail::decode_transport(rest.bytes, rest.wire_B, frame_);
      const bool plain = frame_.ip_version == 6 || (ip.bytes[0] & 0xf) == 5;
      if (options_.check_icrc && plain && ip.whole()) check_icrc(ip.bytes, &wire::icrc);
    }
  }

  void roce_v1(Rest rest) {
    frame_.kind = FrameKind::kUnreadable;
    if (rest.bytes.size() < kIpv6Header_B) return;
    network_header(rest.bytes, 0);
    const std::size_t total_B = kIpv6Header_B + be16(rest.bytes, 4);  // PayLen counts the ICRC
    if (total_B > rest.wire_B) {
      frame_.problems |= kIpLength;
      return;
    }
    rest = rest.first(total_B);
    frame_.encapsulation = Encapsulation::kRoceV1;
    detail::decode_transport(rest.bytes.subspan(kIpv6Header_B), total_B - kIpv6Header_B, frame_);
    if (options_.check_icrc && rest.whole()) check_icrc(rest.bytes, &wire::icrc_v1);
  }

  void check_icrc(Bytes packet, std::uint32_t (*crc)(Bytes)) {
    if (frame_.kind != FrameKind::kRoce || frame_.has(kTooShort)) return;
    const std::size_t covered_B = packet.size() - kIcrc_B;
    frame_.icrc = crc(packet.first(covered_B)) == wire::le32(packet, covered_B) ? IcrcState::kGood : IcrcState::kBad;
  }

  void mac_control(Rest rest) {
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

  const DecodeOptions& options_;
  Addresses& addresses_;
  Frame& frame_;
};

}  // namespace

namespace detail {

void decode_transport(Bytes bytes, std::size_t size_B, Frame& frame) {
  if (bytes.size() < wire::kBthSize_B || size_B < wire::kBthSize_B + kIcrc_B) {
    frame.problems |= kTooShort;
    return;
  }
  frame.kind = FrameKind::kRoce;
  frame.opcode = static_cast<wire::Opcode>(bytes[0]);
  frame.solicited = (bytes[1] & 0x80) != 0;
  frame.mig_req = (bytes[1] & 0x40) != 0;
  frame.pad_B = bytes[1] >> 4 & 3;
  if ((bytes[1] & 0xf) != 0) frame.problems |= kTransportVersion;
  frame.p_key = be16(bytes, 2);
  frame.fecn = (bytes[4] & 0x80) != 0;
  frame.becn = (bytes[4] & 0x40) != 0;
  frame.dest_qp = wire::be24(bytes, 5);
  frame.ack_req = (bytes[8] & 0x80) != 0;
  frame.psn = wire::be24(bytes, 9);
  if (!wire::is_valid_opcode(bytes[0])) {
    frame.problems |= kUnknownOpcode;
    return;
  }
  const std::size_t headers_B = wire::header_size_B(frame.opcode);
  if (size_B < headers_B + kIcrc_B) {
    frame.problems |= kTooShort;
    return;
  }
  const std::size_t padded_B = size_B - headers_B - kIcrc_B;
  if (frame.pad_B > padded_B || padded_B % 4 != 0) {
    frame.problems |= kPadCount;
  }
  frame.payload_B = static_cast<std::uint32_t>(padded_B - std::min<std::size_t>(frame.pad_B, padded_B));

  // The extension headers, in the order in which they follow; `at` is only moved over what is captured.
  std::size_t at = wire::kBthSize_B;
  auto holds = [&](std::size_t header_B) { return bytes.size() >= at + header_B; };
  if (wire::has_deth(frame.opcode)) {
    if (!holds(wire::kDethSize_B)) return;
    frame.has_deth = true;
    frame.qkey = be32(bytes, at);
    frame.src_qp = wire::be24(bytes, at + 5);
    at += wire::kDethSize_B;
  }
  if (wire::has_xrc_eth(frame.opcode)) at += wire::kXrcEthSize_B;
  if (wire::has_reth(frame.opcode)) {
    if (!holds(wire::kRethSize_B)) return;
    frame.has_reth = true;
    frame.va = wire::be64(bytes, at);
    frame.rkey = be32(bytes, at + 8);
    frame.dma_len = be32(bytes, at + 12);
    at += wire::kRethSize_B;
  }
  if (wire::has_atomic_eth(frame.opcode)) {
    if (!holds(wire::kAtomicEthSize_B)) return;
    frame.va = wire::be64(bytes, at);
    frame.rkey = be32(bytes, at + 8);
    at += wire::kAtomicEthSize_B;
  }
  if (wire::has_aeth(frame.opcode)) {
    if (!holds(wire::kAethSize_B)) return;
    frame.has_aeth = true;
    frame.syndrome = bytes[at];
    frame.msn = wire::be24(bytes, at + 1);
    at += wire::kAethSize_B;
  }
  if (wire::has_imm(frame.opcode) && holds(wire::kImmDtSize_B)) frame.imm = be32(bytes, at);
  if (bytes.size() > headers_B)
    frame.payload = bytes.subspan(headers_B, std::min<std::size_t>(frame.payload_B, bytes.size() - headers_B));
}

}  // namespace detail

void decode(std::uint16_t link_type, Bytes bytes, std::uint32_t wire_B, const DecodeOptions& options,
            Addresses& addresses, Frame& frame) {
  const std::uint64_t number = frame.number;
  const std::int64_t time_ns = frame.time_ns;
  const PointId point = frame.point;
  const Direction direction = frame.direction;
  frame = Frame{};
  frame.number = number;
  frame.time_ns = time_ns;
  frame.point = point;
  frame.direction = direction;
  frame.captured_B = static_cast<std::uint32_t>(bytes.size());
  frame.wire_B = std::max(wire_B, frame.captured_B);
  frame.cut = frame.captured_B < frame.wire_B;
  Decoder decoder(options, addresses, frame);
  if (link_type == pcap::kLinkTypeEthernet) decoder.ethernet({bytes, frame.wire_B});
}

}  // namespace weft::analyze
