#include "observe/frame_of.h"

#include <algorithm>

#include "observe/telemetry_frame.h"

namespace weft::observe {

namespace {

constexpr std::size_t kPcpShift = 13;
constexpr std::uint64_t kEcnMask = 3;

engine::FrameAddresses addresses_of(const engine::Packet& packet, const fabric::AddressBook& book,
                                    std::uint32_t link_from, std::uint32_t link_to) {
  const fabric::PortAddress& from = book[packet.src];
  const fabric::PortAddress& to = book[packet.dst];
  engine::FrameAddresses addresses;
  bool routed = (packet.flags & engine::Packet::kRouted) != 0;
  addresses.dst_mac = routed ? book[link_to].mac : to.mac;
  addresses.src_mac = routed ? book[link_from].mac : from.mac;
  if (from.vlan) addresses.vlan_tci = static_cast<std::uint16_t>(packet.priority << kPcpShift | *from.vlan);
  addresses.src_ip = from.ip;
  addresses.dst_ip = to.ip;
  addresses.v4 = from.v4;
  return addresses;
}

}  // namespace

std::size_t frame_of(const engine::Packet& packet, const engine::Domain& domain, const fabric::AddressBook& book,
                     std::uint32_t link_from, std::uint32_t link_to, std::span<std::uint8_t> out) {
  static constexpr engine::PayloadSlot kZeros{};
  engine::Cold cold;
  std::span<const std::uint8_t> payload =
      std::span(kZeros).first(std::min<std::size_t>(packet.payload_B, kZeros.size()));
  if (packet.flags & engine::Packet::kHasCold) {
    cold = domain.cold[packet.aux];
    if (cold.payload != engine::kNoSlot) {
      payload = std::span(domain.payload[cold.payload]).first(packet.payload_B);
    } else if (domain.bytes.fill != nullptr && packet.payload_B > 0) {
      thread_local std::array<std::uint8_t, kMaxFrame_B> bytes;
      const std::size_t known_B = domain.bytes.fill(domain.bytes.self, packet, cold, bytes);
      if (known_B >= packet.payload_B) {
        payload = std::span(bytes).first(known_B);
        cold.payload = 0;  // any but none: these are the packet's own
      }
    }
  } else {
    cold.aux = packet.aux;
  }
  std::size_t size_B =
      domain.formats->frame(packet, cold, payload, addresses_of(packet, book, link_from, link_to), out);
  if (size_B > 0 && cold.telemetry != engine::kNoSlot) {
    size_B = insert_telemetry(out, size_B, domain.telemetry[cold.telemetry],
                              static_cast<std::uint8_t>(packet.tos & kEcnMask));
  }
  return size_B;
}

}  // namespace weft::observe
