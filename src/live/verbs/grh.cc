#include "live/verbs/grh.h"

#include <algorithm>

#include "fabric/link.h"
#include "wire/ipv4.h"
#include "wire/ipv6.h"
#include "wire/udp.h"

namespace weft::live {

namespace {

constexpr std::size_t kIcrc_B = 4;

wire::Ipv4Address last_four(const wire::IpAddress& address) {
  return {address[12], address[13], address[14], address[15]};
}

}  // namespace

void write_grh(const engine::Packet& packet, const fabric::AddressBook& book, const nic::GroupGid* group,
               std::span<std::uint8_t, nic::kGrh_B> out) {
  const fabric::PortAddress& from = book[packet.src];
  const wire::IpAddress& to = group != nullptr ? *group : book[packet.dst].ip;
  const auto ttl = static_cast<std::uint8_t>(engine::kTtl - packet.hops);
  const std::size_t transport_B =
      4 *
      std::size_t{static_cast<std::uint8_t>(packet.header_words - fabric::extra_words(from.v4, from.vlan.has_value()))};
  const std::size_t udp_B = wire::kUdpSize_B + transport_B + ((packet.payload_B + 3) & ~std::size_t{3}) + kIcrc_B;
  std::fill(out.begin(), out.end(), std::uint8_t{0});
  if (from.v4) {
    wire::write_ipv4({.tos = static_cast<std::uint8_t>(packet.tos),
                      .total_length_B = static_cast<std::uint16_t>(wire::kIpv4Size_B + udp_B),
                      .ttl = ttl,
                      .src = last_four(from.ip),
                      .dst = last_four(to)},
                     out.last(wire::kIpv4Size_B));
  } else {
    wire::write_ipv6({.traffic_class = static_cast<std::uint8_t>(packet.tos),
                      .payload_length_B = static_cast<std::uint16_t>(udp_B),
                      .next_header = wire::kIpProtocolUdp,
                      .hop_limit = ttl,
                      .src = from.ip,
                      .dst = to},
                     out);
  }
}

}  // namespace weft::live
