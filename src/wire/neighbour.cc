#include "wire/neighbour.h"

#include <algorithm>
#include <array>

#include "wire/ipv4.h"

namespace weft::wire {
namespace {

constexpr std::size_t kArp_B = 28;
constexpr std::uint16_t kArpRequest = 1, kArpReply = 2;
constexpr std::size_t kMappedAt = 12;  // where an IPv4 address lies in its ::ffff: form

constexpr std::uint8_t kIcmpV6 = 58;
constexpr std::uint8_t kSolicitation = 135, kAdvertisement = 136;
constexpr std::size_t kNeighbour_B = 32;  // ICMPv6 header, target, one link-layer address option
constexpr std::size_t kNeighbourBare_B = 24;
constexpr std::uint8_t kSourceLinkAddress = 1, kTargetLinkAddress = 2;
constexpr std::uint8_t kSolicitedOverride = 0x60;  // flags of an advertisement that answers
constexpr std::uint8_t kHopLimit = 255;            // RFC 4861 7.1: it did not pass a router

void put_mac(const MacAddress& mac, MutableBytes out, std::size_t at) {
  std::copy(mac.begin(), mac.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
}
void put_v4(const IpAddress& address, MutableBytes out, std::size_t at) {
  std::copy_n(address.begin() + kMappedAt, 4, out.begin() + static_cast<std::ptrdiff_t>(at));
}
IpAddress v4_at(Bytes bytes, std::size_t at) {
  return ipv4_mapped(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]);
}

std::size_t build_arp(const NeighbourRequest& request, bool answer, const MacAddress& mac, MutableBytes out) {
  constexpr MacAddress kBroadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  const MacAddress& from = answer ? mac : request.sender_mac;
  const std::size_t at =
      write_ethernet({answer ? request.sender_mac : kBroadcast, from, request.vlan_tci, kEtherTypeArp}, out);
  const MutableBytes arp = out.subspan(at);
  put_be16(arp, 0, 1);  // Ethernet
  put_be16(arp, 2, kEtherTypeIpv4);
  arp[4] = 6;
  arp[5] = 4;
  put_be16(arp, 6, answer ? kArpReply : kArpRequest);
  put_mac(from, arp, 8);
  put_v4(answer ? request.target : request.sender, arp, 14);
  put_mac(answer ? request.sender_mac : MacAddress{}, arp, 18);
  put_v4(answer ? request.sender : request.target, arp, 24);
  return at + kArp_B;
}

// RFC 4443 2.3: over a pseudo-header and the message.
std::uint16_t icmp_checksum(const IpAddress& src, const IpAddress& dst, Bytes message) {
  std::array<std::uint8_t, 40 + kNeighbour_B> all{};
  std::copy(src.begin(), src.end(), all.begin());
  std::copy(dst.begin(), dst.end(), all.begin() + 16);
  put_be32(all, 32, static_cast<std::uint32_t>(message.size()));
  all[39] = kIcmpV6;
  std::copy(message.begin(), message.end(), all.begin() + 40);
  return internet_checksum(std::span(all).first(40 + message.size()));
}

std::size_t build_neighbour_discovery(const NeighbourRequest& request, bool answer, const MacAddress& mac,
                                      MutableBytes out) {
  // The solicited-node groups of the target (RFC 4291 2.7.1, RFC 2464 7).
  const IpAddress& target = request.target;
  IpAddress group{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, target[13], target[14], target[15]};
  MacAddress group_mac{0x33, 0x33, 0xff, target[13], target[14], target[15]};
  // A requester without an address is answered at all nodes.
  const bool anonymous = request.sender == IpAddress{};
  const IpAddress all_nodes{0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const IpAddress dst = !answer ? group : anonymous ? all_nodes : request.sender;
  const IpAddress src = answer ? target : request.sender;
  const MacAddress& from = answer ? mac : request.sender_mac;
  std::size_t at =
      write_ethernet({answer ? request.sender_mac : group_mac, from, request.vlan_tci, kEtherTypeIpv6}, out);
  write_ipv6({.payload_length_B = kNeighbour_B, .next_header = kIcmpV6, .hop_limit = kHopLimit, .src = src, .dst = dst},
             out.subspan(at));
  at += kIpv6Size_B;
  const MutableBytes message = out.subspan(at, kNeighbour_B);
  std::fill(message.begin(), message.end(), std::uint8_t{0});
  message[0] = answer ? kAdvertisement : kSolicitation;
  if (answer) message[4] = anonymous ? kSolicitedOverride & 0x20 : kSolicitedOverride;
  std::copy(target.begin(), target.end(), message.begin() + 8);
  message[24] = answer ? kTargetLinkAddress : kSourceLinkAddress;
  message[25] = 1;  // in units of eight bytes
  put_mac(from, message, 26);
  put_be16(message, 2, icmp_checksum(src, dst, message));
  return at + kNeighbour_B;
}

std::optional<NeighbourRequest> parse_arp(const EthernetView& ethernet) {
  const Bytes arp = ethernet.payload();
  if (arp.size() < kArp_B || be16(arp, 0) != 1 || be16(arp, 2) != kEtherTypeIpv4 || arp[4] != 6 || arp[5] != 4 ||
      be16(arp, 6) != kArpRequest)
    return std::nullopt;
  return NeighbourRequest{v4_at(arp, 14), v4_at(arp, 24), true, mac_at(arp, 8), ethernet.vlan_tci()};
}

std::optional<NeighbourRequest> parse_solicitation(const EthernetView& ethernet) {
  const auto ip = Ipv6View::parse(ethernet.payload());
  if (!ip || ip->next_header() != kIcmpV6 || ip->hop_limit() != kHopLimit) return std::nullopt;
  const Bytes message = ip->payload();
  if (message.size() < kNeighbourBare_B || message.size() > kNeighbour_B || message[0] != kSolicitation ||
      message[1] != 0 || icmp_checksum(ip->src(), ip->dst(), message) != 0)
    return std::nullopt;
  NeighbourRequest request{ip->src(), {}, false, ethernet.src(), ethernet.vlan_tci()};
  std::copy_n(message.begin() + 8, request.target.size(), request.target.begin());
  return request;
}

}  // namespace

std::optional<NeighbourRequest> parse_neighbour_request(Bytes frame) {
  const auto ethernet = EthernetView::parse(frame);
  if (!ethernet) return std::nullopt;
  if (ethernet->ether_type() == kEtherTypeArp) return parse_arp(*ethernet);
  if (ethernet->ether_type() == kEtherTypeIpv6) return parse_solicitation(*ethernet);
  return std::nullopt;
}

std::size_t build_neighbour_request(const NeighbourRequest& request, MutableBytes out) {
  return request.v4 ? build_arp(request, false, {}, out) : build_neighbour_discovery(request, false, {}, out);
}

std::size_t build_neighbour_answer(const NeighbourRequest& request, const MacAddress& mac, MutableBytes out) {
  return request.v4 ? build_arp(request, true, mac, out) : build_neighbour_discovery(request, true, mac, out);
}

}  // namespace weft::wire
