// How Linux spreads RoCEv2 flows over equal-cost paths: the flow label and the UDP source port
// are functions of the two queue pair numbers (include/rdma/ib_verbs.h: rdma_calc_flow_label,
// rdma_flow_label_to_udp_sport). Symmetric: both directions of a connection share them.
#pragma once

#include <cstdint>

namespace weft::wire {

inline constexpr std::uint16_t kRoceUdpPort = 4791;
inline constexpr std::uint16_t kFirstUdpSourcePort = 0xc000;

// 20 bits.
constexpr std::uint32_t flow_label(std::uint32_t lqpn, std::uint32_t rqpn) {
  std::uint64_t v = std::uint64_t{lqpn} * rqpn;
  v ^= v >> 20;
  v ^= v >> 40;
  return static_cast<std::uint32_t>(v & 0xfffff);
}

// In 0xc000..0xffff.
constexpr std::uint16_t udp_source_port_of_flow_label(std::uint32_t label) {
  return static_cast<std::uint16_t>(((label & 0x3fff) ^ ((label & 0xfc000) >> 14)) | kFirstUdpSourcePort);
}

constexpr std::uint16_t udp_source_port(std::uint32_t lqpn, std::uint32_t rqpn) {
  return udp_source_port_of_flow_label(flow_label(lqpn, rqpn));
}

}  // namespace weft::wire
