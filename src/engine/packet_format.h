// Queries of the fabric and observers on a packet, without the words of its transport: one table for each
// value of Packet::transport. nic/transports/transport.h has those of queue pairs, fabric/link_flow_control.h that of
// link control.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/packet.h"

namespace weft::engine {

// kNotice: neither asks nor answers and has no sequence number, as a CNP.
enum class PacketRole : std::uint8_t { kRequest, kResponse, kNotice };

struct PacketDescription {
  PacketRole role = PacketRole::kNotice;
  std::uint32_t sequence = 0;
  std::uint32_t sequence_mask = 0;  // sequence numbers wrap after it
  std::uint8_t opcode = 0;          // as on the wire
};

// Addresses around the transport in a frame. IPv4 addresses are ::ffff:a.b.c.d.
struct FrameAddresses {
  std::array<std::uint8_t, 6> src_mac{}, dst_mac{};
  std::array<std::uint8_t, 16> src_ip{}, dst_ip{};
  bool v4 = true;
  std::optional<std::uint16_t> vlan_tci{};
};

struct PacketFormat {
  std::string_view name;
  PacketDescription (*describe)(const Packet& packet) = nullptr;
  // Writes the whole frame without FCS and without telemetry, and returns its size. `cold` is all zeros but for `aux`
  // when the packet has none. With kBadIcrc its own check fails.
  std::size_t (*frame)(const Packet& packet, const Cold& cold, std::span<const std::uint8_t> payload,
                       const FrameAddresses& addresses, std::span<std::uint8_t> out) = nullptr;
};

// Index: Packet::transport. Read-only while a world runs.
struct PacketFormats {
  std::array<const PacketFormat*, kTransports> formats{};

  PacketDescription describe(const Packet& packet) const {
    const PacketFormat* format = formats[packet.transport];
    return format == nullptr ? PacketDescription{} : format->describe(packet);
  }
  // 0: no frame format is registered.
  std::size_t frame(const Packet& packet, const Cold& cold, std::span<const std::uint8_t> payload,
                    const FrameAddresses& addresses, std::span<std::uint8_t> out) const {
    const PacketFormat* format = formats[packet.transport];
    return format == nullptr ? 0 : format->frame(packet, cold, payload, addresses, out);
  }
};
inline constexpr PacketFormats kNoFormats{};

}  // namespace weft::engine
