#include "wire/roce_frame.h"

#include <algorithm>

#include "base/check.h"
#include "wire/flow.h"
#include "wire/icrc.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/mtu.h"
#include "wire/roce_transport.h"
#include "wire/udp.h"

namespace weft::wire {
namespace {

constexpr std::size_t kIpv4InMapped = 12;  // where an IPv4 address lies in its ::ffff: form

Ipv4Address unmapped(const IpAddress& address) {
  return {address[kIpv4InMapped], address[kIpv4InMapped + 1], address[kIpv4InMapped + 2], address[kIpv4InMapped + 3]};
}

IpAddress mapped(const Ipv4Address& a) {
  return ipv4_mapped(a[0], a[1], a[2], a[3]);
}

EthernetHeader ethernet_header(const RoceHeaders& headers) {
  return {headers.dst_mac, headers.src_mac, headers.vlan_tci, headers.v4 ? kEtherTypeIpv4 : kEtherTypeIpv6};
}

std::size_t ip_size_B(const RoceHeaders& headers) {
  return headers.v4 ? kIpv4Size_B : kIpv6Size_B;
}

void write_ip(const RoceHeaders& headers, std::size_t udp_B, MutableBytes out) {
  WEFT_CHECK(kIpv4Size_B + udp_B <= 0xffff, "RoCEv2 packet longer than IP can say");
  if (headers.v4) {
    write_ipv4({.tos = headers.tos,
                .total_length_B = static_cast<std::uint16_t>(kIpv4Size_B + udp_B),
                .id = headers.ip_id,
                .dont_fragment = headers.dont_fragment,
                .ttl = headers.ttl,
                .protocol = kIpProtocolUdp,
                .src = unmapped(headers.src_ip),
                .dst = unmapped(headers.dst_ip)},
               out);
  } else {
    write_ipv6({.traffic_class = headers.tos,
                .flow_label = headers.flow_label,
                .payload_length_B = static_cast<std::uint16_t>(udp_B),
                .next_header = kIpProtocolUdp,
                .hop_limit = headers.ttl,
                .src = headers.src_ip,
                .dst = headers.dst_ip},
               out);
  }
}

bool is_rocev2_datagram(Bytes ip_payload) {
  return ip_payload.size() >= kUdpSize_B && be16(ip_payload, 2) == kRoceUdpPort;
}

// Fills the IP part of `frame` and returns the whole IP packet.
tl::expected<Bytes, WireError> parse_ipv4(Bytes packet, RoceFrame& frame) {
  const auto ip = Ipv4View::parse(packet);
  if (!ip) return tl::unexpected(ip.error());
  if (ip->protocol() != kIpProtocolUdp) return tl::unexpected(WireError::kNotRoce);
  if (ip->is_fragment() || ip->reserved_flag()) return tl::unexpected(WireError::kBadIpFlags);
  if (!is_rocev2_datagram(ip->payload())) return tl::unexpected(WireError::kNotRoce);
  if (ip->header_size_B() != kIpv4Size_B) return tl::unexpected(WireError::kIpOptions);
  RoceHeaders& headers = frame.headers;
  headers.v4 = true;
  headers.tos = ip->tos();
  headers.ip_id = ip->id();
  headers.dont_fragment = ip->dont_fragment();
  headers.ttl = ip->ttl();
  headers.src_ip = mapped(ip->src());
  headers.dst_ip = mapped(ip->dst());
  frame.ipv4_checksum = ip->checksum();
  frame.ipv4_checksum_ok = ip->checksum_ok();
  return packet.first(ip->total_length_B());
}

tl::expected<Bytes, WireError> parse_ipv6(Bytes packet, RoceFrame& frame) {
  const auto ip = Ipv6View::parse(packet);
  if (!ip) return tl::unexpected(ip.error());
  if (ip->next_header() != kIpProtocolUdp || !is_rocev2_datagram(ip->payload())) {
    return tl::unexpected(WireError::kNotRoce);
  }
  RoceHeaders& headers = frame.headers;
  headers.v4 = false;
  headers.tos = ip->traffic_class();
  headers.flow_label = ip->flow_label();
  headers.ttl = ip->hop_limit();
  headers.src_ip = ip->src();
  headers.dst_ip = ip->dst();
  return packet.first(kIpv6Size_B + ip->payload_length_B());
}

}  // namespace

bool is_rocev2(Bytes frame) {
  const auto ethernet = EthernetView::parse(frame);
  if (!ethernet) return false;
  const Bytes packet = ethernet->payload();
  if (ethernet->ether_type() == kEtherTypeIpv4 && packet.size() >= kIpv4Size_B) {
    const std::size_t header_B = static_cast<std::size_t>(packet[0] & 0xf) * 4;
    const bool is_later_fragment = (be16(packet, 6) & 0x1fff) != 0;
    return packet[9] == kIpProtocolUdp && !is_later_fragment && packet.size() >= header_B &&
           is_rocev2_datagram(packet.subspan(header_B));
  }
  if (ethernet->ether_type() == kEtherTypeIpv6 && packet.size() >= kIpv6Size_B) {
    return packet[6] == kIpProtocolUdp && is_rocev2_datagram(packet.subspan(kIpv6Size_B));
  }
  return false;
}

std::size_t roce_frame_size_B(const RoceHeaders& headers, std::size_t payload_B) {
  return ethernet_size_B(ethernet_header(headers)) + ip_size_B(headers) + kUdpSize_B +
         detail::transport_size_B(headers, payload_B);
}

std::size_t build_roce_frame(const RoceHeaders& headers, Bytes payload, MutableBytes out) {
  const std::size_t size_B = roce_frame_size_B(headers, payload.size());
  WEFT_CHECK(out.size() >= size_B, "no room for the frame");
  const std::size_t ip_at = ethernet_size_B(ethernet_header(headers));
  const std::size_t udp_at = ip_at + ip_size_B(headers);
  const std::size_t udp_B = size_B - udp_at;
  // The transport first, because the payload may lie anywhere in `out`.
  detail::write_transport(headers, payload, out.first(size_B).subspan(udp_at + kUdpSize_B));
  write_ethernet(ethernet_header(headers), out);
  write_ip(headers, udp_B, out.subspan(ip_at));
  write_udp({headers.src_port, kRoceUdpPort, static_cast<std::uint16_t>(udp_B), 0}, out.subspan(udp_at));
  const std::size_t icrc_at = size_B - kIcrc_B;
  put_le32(out, icrc_at, icrc(out.first(icrc_at).subspan(ip_at)));
  return size_B;
}

tl::expected<RoceFrame, WireError> parse_roce_frame(Bytes bytes) {
  const auto ethernet = EthernetView::parse(bytes);
  if (!ethernet) return tl::unexpected(ethernet.error());
  const bool v4 = ethernet->ether_type() == kEtherTypeIpv4;
  if (!v4 && ethernet->ether_type() != kEtherTypeIpv6) return tl::unexpected(WireError::kNotRoce);

  RoceFrame frame;
  frame.headers.dst_mac = ethernet->dst();
  frame.headers.src_mac = ethernet->src();
  frame.headers.vlan_tci = ethernet->vlan_tci();
  const auto packet = v4 ? parse_ipv4(ethernet->payload(), frame) : parse_ipv6(ethernet->payload(), frame);
  if (!packet) return tl::unexpected(packet.error());
  frame.trailer = ethernet->payload().subspan(packet->size());

  const auto udp = UdpView::parse(packet->subspan(v4 ? kIpv4Size_B : kIpv6Size_B));
  if (!udp) return tl::unexpected(udp.error());
  frame.headers.src_port = udp->src_port();
  frame.udp_checksum = udp->checksum();
  if (const auto transport = detail::parse_transport(udp->payload(), frame); !transport) {
    return tl::unexpected(transport.error());
  }
  frame.icrc_ok = frame.icrc == icrc(packet->first(packet->size() - kIcrc_B));
  return frame;
}

}  // namespace weft::wire
