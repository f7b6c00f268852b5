#include "analyze/frames/decode.h"

#include <bit>
#include <cstring>

#include "analyze/frames/decoder.h"
#include "wire/erspan.h"
#include "wire/ethernet.h"
#include "wire/flow.h"
#include "wire/icrc.h"
#include "wire/ifa.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/udp.h"
#include "wire/uet.h"

namespace weft::analyze {
namespace detail {
namespace {

using wire::be16;
using wire::be32;
using wire::Bytes;

constexpr std::uint16_t kVxlanPort = 4789, kOldVxlanPort = 8472;  // assigned; of Linux before that
constexpr std::uint8_t kIpv4InIp = 4, kIpv6InIp = 41;
constexpr std::uint16_t kIntPort = 5000;  // none was assigned; that of P4 examples, and of Weft
constexpr std::uint8_t kTcpProtocol = 6;
constexpr std::size_t kIpv6Header_B = 40, kIcrc_B = 4;
constexpr std::uint32_t kShortestFrame_B = 60, kFcs_B = 4;
constexpr int kMostExtensions = 8;

// The one's complement sum of an IPv4 header is all ones. It does not depend on the byte order.
bool ipv4_checksum_ok(const std::uint8_t* header, std::size_t header_B) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < header_B; at += 4) {
    std::uint32_t word;
    std::memcpy(&word, header + at, sizeof word);
    sum += word;
  }
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

}  // namespace

void Decoder::ether_type(std::uint16_t type, Rest rest) {
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

// Cuts the rest to the length that the IP header or GRH gives: a short frame is padded behind it, and some captures
// keep the FCS. A packet longer than its frame was is wrong, or trimmed by a switch, unless the frame was cut on its
// way to the capture: mirrors may shorten frames, and then nothing says how long they were but their headers, which
// agree. `udp_at`: where the UDP header would be; 0 where there is none.
void Decoder::fit_to(std::size_t total_B, std::size_t udp_at, Rest& rest) {
  if (total_B > rest.wire_B) {
    const bool roce_agrees =
        udp_at != 0 && frame_.ip_protocol == wire::kIpProtocolUdp && rest.bytes.size() >= udp_at + wire::kUdpSize_B &&
        be16(rest.bytes, udp_at + 2) == wire::kRoceUdpPort && be16(rest.bytes, udp_at + 4) == total_B - udp_at;
    if (!mirror_cuts_ && !roce_agrees) {
      frame_.problems |= kIpLength;
      return;
    }
    frame_.wire_B += static_cast<std::uint32_t>(total_B - rest.wire_B);
    frame_.cut = true;
    rest.wire_B = total_B;
    return;
  }
  const std::size_t behind_B = rest.wire_B - total_B;
  if (has_ethernet_ && behind_B >= kFcs_B) {
    const bool has_fcs = behind_B == kFcs_B ? frame_.wire_B >= kShortestFrame_B + kFcs_B
                                            : frame_.wire_B == kShortestFrame_B + kFcs_B && frame_.vlan_tci < 0;
    if (has_fcs) frame_.wire_B -= kFcs_B;
  }
  rest = rest.first(total_B);
}

void Decoder::ipv4(Rest rest) {
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
  frame_.src = addresses_.id_of_ipv4(be32(ip, 12));
  frame_.dst = addresses_.id_of_ipv4(be32(ip, 16));
  if (!ipv4_checksum_ok(ip.data(), header_B)) frame_.problems |= kIpChecksum;
  has_options_ = header_B != wire::kIpv4Size_B;
  const std::uint16_t fragment = be16(ip, 6) & 0x3fff;  // more fragments, offset
  if (fragment != 0) {
    frame_.problems |= kFragment;
    is_fragment_ = true;
  }
  std::size_t total_B = be16(ip, 2);
  if (total_B == 0 && frame_.ip_protocol == kTcpProtocol) total_B = rest.wire_B;  // to be segmented by the NIC
  if (total_B < header_B) {
    frame_.problems |= kIpLength;
    return;
  }
  fit_to(total_B, is_fragment_ ? 0 : header_B, rest);
  if ((fragment & 0x1fff) == 0) above_ip(rest, rest.after(header_B));
}

void Decoder::ipv6(Rest rest) {
  frame_.kind = FrameKind::kUnreadable;
  if (rest.bytes.size() < kIpv6Header_B || rest.bytes[0] >> 4 != 6) return;
  frame_.kind = FrameKind::kOtherIp;
  network_header(rest.bytes, 6);
  frame_.ip_protocol = rest.bytes[6];
  fit_to(kIpv6Header_B + be16(rest.bytes, 4), kIpv6Header_B, rest);
  Rest above = rest.after(kIpv6Header_B);
  if (ipv6_extensions(above)) above_ip(rest, above);
}

// Steps over extension headers. False where what follows is not there: a later fragment, or snapped.
bool Decoder::ipv6_extensions(Rest& rest) {
  constexpr std::uint8_t kHopByHop = 0, kRouting = 43, kFragmentHeader = 44, kAuthentication = 51, kDestination = 60;
  for (int i = 0; i < kMostExtensions; ++i) {
    const std::uint8_t next = frame_.ip_protocol;
    const bool is_extension = next == kHopByHop || next == kRouting || next == kFragmentHeader ||
                              next == kAuthentication || next == kDestination;
    if (!is_extension) return true;
    if (rest.bytes.size() < 8) return false;
    has_options_ = true;
    std::size_t size_B = 8;
    if (next == kFragmentHeader) {
      const std::uint16_t fragment = be16(rest.bytes, 2) & 0xfff9;  // offset, more fragments
      if (fragment != 0) {
        frame_.problems |= kFragment;
        is_fragment_ = true;
      }
      if ((fragment & 0xfff8) != 0) return false;
    } else if (next == kAuthentication) {
      size_B = (std::size_t{rest.bytes[1]} + 2) * 4;
    } else {
      size_B = (std::size_t{rest.bytes[1]} + 1) * 8;
    }
    frame_.ip_protocol = rest.bytes[0];
    rest = rest.after(size_B);
  }
  return false;
}

// IPv6 header and GRH have the same form.
void Decoder::network_header(Bytes ip, std::uint8_t version) {
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

void Decoder::above_ip(Rest ip, Rest rest) {
  frame_.ip = ip.bytes;
  if (frame_.ip_protocol == wire::kIpProtocolUdp) {
    udp(ip, rest);
  } else if (frame_.ip_protocol == kTcpProtocol) {
    frame_.kind = FrameKind::kTcp;
    frame_.payload = rest.bytes;
    if (rest.bytes.size() >= 4) {
      frame_.src_port = be16(rest.bytes, 0);
      frame_.dst_port = be16(rest.bytes, 2);
    }
  } else if (frame_.ip_protocol == wire::kIpProtocolGre) {
    gre(rest);
  } else if (frame_.ip_protocol == wire::kIpProtocolIfa) {
    ifa(rest);
  } else if (frame_.ip_protocol == wire::kIpProtocolUet) {
    uet_on_ip(rest);
  } else if (frame_.ip_protocol == kIpv4InIp || frame_.ip_protocol == kIpv6InIp) {
    if (++tunnels_ > kMostTunnels) return;
    frame_.problems = 0;
    frame_.ip_protocol == kIpv4InIp ? ipv4(rest) : ipv6(rest);
  }
}

// Over the addresses, the protocol and the length as well (RFC 768, RFC 8200 8.1). 0 is none: RoCE has the ICRC.
bool Decoder::udp_checksum_fits(Rest ip, Rest udp) const {
  const bool is_v4 = frame_.ip_version == 4;
  std::uint64_t sum = wire::kIpProtocolUdp + udp.bytes.size();
  const auto add = [&sum](Bytes bytes) {
    for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) sum += be16(bytes, at);
    if (bytes.size() % 2 != 0) sum += std::uint64_t{bytes.back()} << 8;
  };
  add(is_v4 ? ip.bytes.subspan(12, 8) : ip.bytes.subspan(8, 32));
  add(udp.bytes);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

void Decoder::udp(Rest ip, Rest rest) {
  if (rest.bytes.size() < wire::kUdpSize_B) return;
  frame_.src_port = be16(rest.bytes, 0);
  frame_.dst_port = be16(rest.bytes, 2);
  const std::size_t udp_B = be16(rest.bytes, 4);
  if (udp_B != rest.wire_B && !is_fragment_) frame_.problems |= kUdpLength;
  const bool is_whole = rest.whole() && udp_B == rest.wire_B && !is_fragment_ && !has_options_;
  if (frame_.dst_port == wire::kRoceUdpPort && is_whole && be16(rest.bytes, 6) != 0 && !udp_checksum_fits(ip, rest))
    frame_.problems |= kUdpChecksum;
  rest = rest.after(wire::kUdpSize_B);
  if (frame_.dst_port == wire::kRoceUdpPort) {
    frame_.encapsulation = Encapsulation::kRoceV2;
    decode_transport(rest.bytes, rest.wire_B, frame_);
    if (options_.check_icrc && !has_options_ && !is_fragment_ && ip.whole() && !frame_.has(kIpLength))
      check_icrc(ip.bytes, &wire::icrc);
  } else if (frame_.dst_port == wire::kUetUdpPort) {
    frame_.kind = FrameKind::kUet;
    frame_.payload = rest.bytes;
    // A switch that trims writes the length of the IP header anew or leaves it, and always leaves that of UDP.
    frame_.is_trimmed = frame_.has(kIpLength) || (!is_fragment_ && udp_B > wire::kUdpSize_B + rest.wire_B);
  } else if (frame_.dst_port == kIntPort) {
    int_md(rest);
  } else if (frame_.dst_port == kVxlanPort || frame_.dst_port == kOldVxlanPort) {
    vxlan(rest);
  }
}

void Decoder::roce_v1(Rest rest) {
  frame_.kind = FrameKind::kUnreadable;
  if (rest.bytes.size() < kIpv6Header_B) return;
  network_header(rest.bytes, 0);
  const std::size_t total_B = kIpv6Header_B + be16(rest.bytes, 4);  // PayLen counts the ICRC
  fit_to(total_B, 0, rest);
  if (frame_.has(kIpLength)) return;
  frame_.encapsulation = Encapsulation::kRoceV1;
  decode_transport(rest.bytes.subspan(kIpv6Header_B), total_B - kIpv6Header_B, frame_);
  if (options_.check_icrc && rest.whole()) check_icrc(rest.bytes, &wire::icrc_v1);
}

void Decoder::check_icrc(Bytes packet, std::uint32_t (*crc)(Bytes)) {
  if (frame_.kind != FrameKind::kRoce || frame_.has(kTooShort)) return;
  const std::size_t covered_B = packet.size() - kIcrc_B;
  frame_.icrc = crc(packet.first(covered_B)) == wire::le32(packet, covered_B) ? IcrcState::kGood : IcrcState::kBad;
}

}  // namespace detail

void decode(std::uint16_t link_type, wire::Bytes bytes, std::uint32_t wire_B, const DecodeOptions& options,
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
  detail::Decoder(options, addresses, frame).link(link_type, {bytes, frame.wire_B});
}

}  // namespace weft::analyze
