// IP and what it carries other than RoCE: the part of packet_tree.h that Wireshark's packet-ip and packet-tcp show.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>

#include "analyze/show/tree_maker.h"
#include "wire/erspan.h"
#include "wire/flow.h"
#include "wire/ifa.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/tcp.h"
#include "wire/udp.h"
#include "wire/uet.h"

namespace weft::analyze::detail {
namespace {

constexpr std::uint8_t kIcmp = 1, kIcmpV6 = 58, kInIpv4 = 4, kInIpv6 = 41;

const char* protocol_name(std::uint8_t protocol) {
  switch (protocol) {
    case kIcmp:
      return "ICMP";
    case kInIpv4:
      return "IPv4";
    case wire::kIpProtocolTcp:
      return "TCP";
    case wire::kIpProtocolUdp:
      return "UDP";
    case kInIpv6:
      return "IPv6";
    case wire::kIpProtocolGre:
      return "GRE";
    case kIcmpV6:
      return "ICMPv6";
    case wire::kIpProtocolIfa:
      return "IFA";
    case wire::kIpProtocolUet:
      return "UET, for experiments";
    default:
      return "";
  }
}

// RFC 2474, 2597, 3246.
std::string dscp_name(unsigned dscp) {
  if (dscp == 46) return "EF";
  if (dscp == 0) return "CS0, default";
  if (dscp % 8 == 0) return fmt::format("CS{}", dscp / 8);
  const unsigned queue = dscp / 8, precedence = dscp % 8 / 2;
  if (dscp % 2 == 0 && queue >= 1 && queue <= 4) return fmt::format("AF{}{}", queue, precedence);
  return "";
}

bool checksum_is_right(wire::Bytes header) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at + 1 < header.size(); at += 2) sum += wire::be16(header, at);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff;
}

}  // namespace

std::string TreeMaker::ip_text(std::size_t at, std::size_t size_B) const {
  if (size_B == 4) return fmt::format("{}.{}.{}.{}", u8(at), u8(at + 1), u8(at + 2), u8(at + 3));
  char text[INET6_ADDRSTRLEN] = {};
  return ::inet_ntop(AF_INET6, bytes_.data() + at, text, sizeof text) == nullptr ? "" : text;
}

void TreeMaker::raw_ip(std::size_t at, std::size_t end) {
  if (!has(at, 1, end)) return;
  u8(at) >> 4 == 6 ? ipv6(at, end) : ipv4(at, end);
}

void TreeMaker::traffic_class(const char* prefix, unsigned tos, std::size_t at, std::size_t length) {
  constexpr std::array<const char*, 4> kEcn = {"Not-ECT", "ECT(1)", "ECT(0)", "CE: congestion experienced"};
  field("Differentiated Services Codepoint", fmt::format("{}.dscp", prefix), fmt::format("{}", tos >> 2), at, length,
        dscp_name(tos >> 2));
  field("Explicit Congestion Notification", fmt::format("{}.ecn", prefix), fmt::format("{}", tos & 3), at, length,
        kEcn[tos & 3]);
}

void TreeMaker::ipv4(std::size_t at, std::size_t end) {
  if (!has(at, wire::kIpv4Size_B, end)) return data(at, end);
  const std::size_t header_B = (u8(at) & std::size_t{0xf}) * 4;
  if (header_B < wire::kIpv4Size_B || !has(at, header_B, end)) return data(at, end);
  layer("Internet Protocol Version 4", at, header_B);
  field("Version", "ip.version", fmt::format("{}", u8(at) >> 4), at, 1);
  field("Header Length", "ip.hdr_len", fmt::format("{}", header_B), at, 1, "bytes");
  traffic_class("ip.dsfield", u8(at + 1), at + 1, 1);
  const std::size_t total_B = u16(at + 2);
  const bool too_long = total_B > end - at;
  decimal("Total Length", "ip.len", at + 2, 2, too_long ? "more than the frame had" : "");
  hex("Identification", "ip.id", at + 4, 2);
  const unsigned fragment = u16(at + 6);
  field("Don't fragment", "ip.flags.df", fmt::format("{}", fragment >> 14 & 1), at + 6, 1);
  field("More fragments", "ip.flags.mf", fmt::format("{}", fragment >> 13 & 1), at + 6, 1);
  field("Fragment Offset", "ip.frag_offset", fmt::format("{}", (fragment & 0x1fff) * 8), at + 6, 2);
  decimal("Time to Live", "ip.ttl", at + 8, 1);
  decimal("Protocol", "ip.proto", at + 9, 1, protocol_name(u8(at + 9)));
  hex("Header Checksum", "ip.checksum", at + 10, 2,
      checksum_is_right(bytes_.subspan(at, header_B)) ? "correct" : "incorrect");
  field("Source Address", "ip.src", ip_text(at + 12, 4), at + 12, 4);
  field("Destination Address", "ip.dst", ip_text(at + 16, 4), at + 16, 4);
  if (header_B > wire::kIpv4Size_B)
    field("Options", "", fmt::format("{} bytes", header_B - 20), at + 20, header_B - 20);
  const std::size_t stop = too_long || total_B < header_B ? end : at + total_B;
  if ((fragment & 0x1fff) != 0) return data(at + header_B, stop, "Fragment");
  above_ip(u8(at + 9), at + header_B, stop);
  data(stop, end, "Trailer: padding or FCS");
}

void TreeMaker::ipv6(std::size_t at, std::size_t end) {
  constexpr std::size_t kHeader_B = 40;
  if (!has(at, kHeader_B, end)) return data(at, end);
  layer("Internet Protocol Version 6", at, kHeader_B);
  field("Version", "ipv6.version", fmt::format("{}", u8(at) >> 4), at, 1);
  traffic_class("ipv6.tclass", u16(at) >> 4 & 0xff, at, 4);
  field("Flow Label", "ipv6.flow", fmt::format("0x{:06x}", u32(at) & 0xfffff), at + 1, 3);
  const std::size_t payload_B = u16(at + 4);
  const bool too_long = payload_B > end - at - kHeader_B;
  decimal("Payload Length", "ipv6.plen", at + 4, 2, too_long ? "more than the frame had" : "");
  decimal("Next Header", "ipv6.nxt", at + 6, 1, protocol_name(u8(at + 6)));
  decimal("Hop Limit", "ipv6.hlim", at + 7, 1);
  field("Source Address", "ipv6.src", ip_text(at + 8, 16), at + 8, 16);
  field("Destination Address", "ipv6.dst", ip_text(at + 24, 16), at + 24, 16);
  const std::size_t stop = too_long ? end : at + kHeader_B + payload_B;
  std::uint8_t next = u8(at + 6);
  std::size_t place = at + kHeader_B;
  // Hop-by-hop, routing, fragment, authentication and destination options.
  for (int i = 0; i < 8 && (next == 0 || next == 43 || next == 44 || next == 51 || next == 60); ++i) {
    if (!has(place, 8, stop)) return data(place, stop);
    const std::size_t size_B = next == 44   ? 8
                               : next == 51 ? (std::size_t{u8(place + 1)} + 2) * 4
                                            : (std::size_t{u8(place + 1)} + 1) * 8;
    layer("IPv6 Extension Header", place, size_B);
    decimal("Next Header", "", place, 1, protocol_name(u8(place)));
    const bool later_fragment = next == 44 && (u16(place + 2) & 0xfff8) != 0;
    next = u8(place);
    place += size_B;
    if (later_fragment) return data(place, stop, "Fragment");
  }
  above_ip(next, place, stop);
  data(stop, end, "Trailer: padding or FCS");
}

void TreeMaker::above_ip(std::uint8_t protocol, std::size_t at, std::size_t end) {
  if (protocol == wire::kIpProtocolUdp) return udp(at, end);
  if (protocol == wire::kIpProtocolTcp) return tcp(at, end);
  if (protocol == kIcmp || protocol == kIcmpV6) return icmp(protocol == kIcmpV6, at, end);
  if (protocol == wire::kIpProtocolGre) return gre(at, end);
  if (protocol == wire::kIpProtocolIfa) return ifa(at, end);
  if (protocol == wire::kIpProtocolUet && decoded_.kind == FrameKind::kUet) return uet(at + wire::kUetEntropy_B, end);
  if (protocol == kInIpv4 && enter_tunnel()) return ipv4(at, end);
  if (protocol == kInIpv6 && enter_tunnel()) return ipv6(at, end);
  data(at, end);
}

void TreeMaker::udp(std::size_t at, std::size_t end) {
  constexpr std::uint16_t kVxlanPorts[] = {4789, 8472}, kIntMdPort = 5000;
  if (!has(at, wire::kUdpSize_B, end)) return data(at, end);
  layer("User Datagram Protocol", at, wire::kUdpSize_B);
  const std::uint16_t port = u16(at + 2);
  decimal("Source Port", "udp.srcport", at, 2, port == wire::kRoceUdpPort ? "entropy of the flow" : "");
  decimal("Destination Port", "udp.dstport", at + 2, 2,
          port == wire::kRoceUdpPort  ? "RoCEv2"
          : port == wire::kUetUdpPort ? "UET"
                                      : "");
  decimal("Length", "udp.length", at + 4, 2, u16(at + 4) != end - at ? "not that of the IP payload" : "");
  hex("Checksum", "udp.checksum", at + 6, 2, u16(at + 6) == 0 ? "none" : "");
  at += wire::kUdpSize_B;
  if (port == wire::kRoceUdpPort) return transport(at, end);
  if (port == wire::kUetUdpPort) return uet(at, end);
  if (port == kVxlanPorts[0] || port == kVxlanPorts[1]) return vxlan(at, end);
  if (port == kIntMdPort) return int_md(at, end);
  data(at, end);
}

void TreeMaker::tcp(std::size_t at, std::size_t end) {
  if (!has(at, wire::kTcpSize_B, end)) return data(at, end);
  const std::size_t header_B = (u8(at + 12) >> 4) * std::size_t{4};
  if (header_B < wire::kTcpSize_B || !has(at, header_B, end)) return data(at, end);
  layer("Transmission Control Protocol", at, header_B);
  decimal("Source Port", "tcp.srcport", at, 2);
  decimal("Destination Port", "tcp.dstport", at + 2, 2);
  decimal("Sequence Number (raw)", "tcp.seq_raw", at + 4, 4);
  decimal("Acknowledgment number (raw)", "tcp.ack_raw", at + 8, 4);
  field("Header Length", "tcp.hdr_len", fmt::format("{}", header_B), at + 12, 1, "bytes");
  constexpr std::array<const char*, 8> kFlags = {"FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"};
  std::string set;
  for (unsigned i = 0; i < kFlags.size(); ++i)
    if ((u8(at + 13) >> i & 1) != 0) set += (set.empty() ? "" : ", ") + std::string(kFlags[i]);
  field("Flags", "tcp.flags", fmt::format("0x{:04x}", u16(at + 12) & 0xfff), at + 12, 2, set);
  decimal("Window", "tcp.window_size_value", at + 14, 2);
  hex("Checksum", "tcp.checksum", at + 16, 2);
  decimal("Urgent Pointer", "tcp.urgent_pointer", at + 18, 2);
  tcp_options(at + wire::kTcpSize_B, at + header_B);
  data(at + header_B, end, "TCP payload");
}

void TreeMaker::tcp_options(std::size_t at, std::size_t end) {
  while (has(at, 1, end) && u8(at) != 0) {
    if (u8(at) == 1) {
      ++at;
      continue;
    }
    if (!has(at, 2, end) || u8(at + 1) < 2 || !has(at, u8(at + 1), end)) return;
    const std::size_t size_B = u8(at + 1);
    if (u8(at) == 2 && size_B == 4) decimal("MSS Value", "tcp.options.mss_val", at + 2, 2);
    if (u8(at) == 3 && size_B == 3) decimal("Shift count", "tcp.options.wscale.shift", at + 2, 1);
    if (u8(at) == 4) field("SACK permitted", "tcp.options.sack_perm", "1", at, 2);
    if (u8(at) == 5) {
      for (std::size_t edge = at + 2; edge + 8 <= at + size_B; edge += 8) {
        decimal("left edge", "tcp.options.sack_le", edge, 4, "raw");
        decimal("right edge", "tcp.options.sack_re", edge + 4, 4, "raw");
      }
    }
    if (u8(at) == 8 && size_B == 10) {
      decimal("Timestamp value", "tcp.options.timestamp.tsval", at + 2, 4);
      decimal("Timestamp echo reply", "tcp.options.timestamp.tsecr", at + 6, 4);
    }
    at += size_B;
  }
}

void TreeMaker::icmp(bool v6, std::size_t at, std::size_t end) {
  if (!has(at, 4, end)) return data(at, end);
  const unsigned type = u8(at);
  layer(v6 ? "Internet Control Message Protocol v6" : "Internet Control Message Protocol", at, 4);
  const char* prefix = v6 ? "icmpv6" : "icmp";
  const char* meaning = "";
  if (v6) {
    if (type >= 135 && type <= 136) meaning = type == 135 ? "Neighbor Solicitation" : "Neighbor Advertisement";
    if (type == 143) meaning = "Multicast Listener Report Message v2";
  } else if (type == 8 || type == 0) {
    meaning = type == 8 ? "Echo (ping) request" : "Echo (ping) reply";
  }
  decimal("Type", fmt::format("{}.type", prefix), at, 1, meaning);
  decimal("Code", fmt::format("{}.code", prefix), at + 1, 1);
  hex("Checksum", fmt::format("{}.checksum", prefix), at + 2, 2);
  data(at + 4, end);
}

}  // namespace weft::analyze::detail
