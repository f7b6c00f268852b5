// RoCEv1 frames: the transport behind a Global Route Header, directly on Ethernet.
#include "base/check.h"
#include "wire/icrc.h"
#include "wire/ipv6.h"
#include "wire/mtu.h"
#include "wire/roce_frame.h"
#include "wire/roce_transport.h"

namespace weft::wire {
namespace {

EthernetHeader ethernet_header_v1(const RoceHeaders& headers) {
  return {headers.dst_mac, headers.src_mac, headers.vlan_tci, kEtherTypeRoceV1};
}

}  // namespace

std::size_t rocev1_frame_size_B(const RoceHeaders& headers, std::size_t payload_B) {
  return ethernet_size_B(ethernet_header_v1(headers)) + kIpv6Size_B + detail::transport_size_B(headers, payload_B);
}

std::size_t build_rocev1_frame(const RoceHeaders& headers, Bytes payload, MutableBytes out) {
  const std::size_t size_B = rocev1_frame_size_B(headers, payload.size());
  WEFT_CHECK(out.size() >= size_B, "no room for the frame");
  const std::size_t grh_at = ethernet_size_B(ethernet_header_v1(headers));
  const std::size_t transport_B = size_B - grh_at - kIpv6Size_B;
  WEFT_CHECK(transport_B <= 0xffff, "RoCEv1 packet longer than its GRH can say");
  detail::write_transport(headers, payload, out.first(size_B).subspan(grh_at + kIpv6Size_B));
  write_ethernet(ethernet_header_v1(headers), out);
  write_ipv6({.traffic_class = headers.tos,
              .flow_label = headers.flow_label,
              .payload_length_B = static_cast<std::uint16_t>(transport_B),
              .next_header = kGrhNextHeaderIba,
              .hop_limit = headers.ttl,
              .src = headers.src_ip,
              .dst = headers.dst_ip},
             out.subspan(grh_at));
  const std::size_t icrc_at = size_B - kIcrc_B;
  put_le32(out, icrc_at, icrc_v1(out.first(icrc_at).subspan(grh_at)));
  return size_B;
}

tl::expected<RoceFrame, WireError> parse_rocev1_frame(Bytes bytes) {
  const auto ethernet = EthernetView::parse(bytes);
  if (!ethernet) return tl::unexpected(ethernet.error());
  if (ethernet->ether_type() != kEtherTypeRoceV1) return tl::unexpected(WireError::kNotRoce);
  const auto grh = Ipv6View::parse(ethernet->payload());
  if (!grh) return tl::unexpected(grh.error());
  if (grh->next_header() != kGrhNextHeaderIba) return tl::unexpected(WireError::kNotRoce);

  RoceFrame frame;
  frame.headers.dst_mac = ethernet->dst();
  frame.headers.src_mac = ethernet->src();
  frame.headers.vlan_tci = ethernet->vlan_tci();
  frame.headers.v4 = false;
  frame.headers.tos = grh->traffic_class();
  frame.headers.flow_label = grh->flow_label();
  frame.headers.ttl = grh->hop_limit();
  frame.headers.src_ip = grh->src();
  frame.headers.dst_ip = grh->dst();
  if (const auto transport = detail::parse_transport(grh->payload(), frame); !transport) {
    return tl::unexpected(transport.error());
  }
  const std::size_t packet_B = kIpv6Size_B + grh->payload_length_B();
  frame.icrc_ok = frame.icrc == icrc_v1(ethernet->payload().first(packet_B - kIcrc_B));
  frame.trailer = ethernet->payload().subspan(packet_B);
  return frame;
}

}  // namespace weft::wire
