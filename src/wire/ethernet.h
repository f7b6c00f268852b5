// Ethernet II header with at most one 802.1Q tag (IEEE 802.3 3.2, 802.1Q 9.6). Frames here never
// include preamble or FCS. A frame whose inner EtherType is again a tag is left to the caller.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tl/expected.hpp>

#include "wire/bytes.h"
#include "wire/wire_error.h"

namespace weft::wire {

using MacAddress = std::array<std::uint8_t, 6>;

// The six bytes at `at`, which must be there.
inline MacAddress mac_at(Bytes bytes, std::size_t at) {
  MacAddress mac;
  for (std::size_t i = 0; i < mac.size(); ++i) mac[i] = bytes[at + i];
  return mac;
}

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeVlan = 0x8100;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;
inline constexpr std::uint16_t kEtherTypeMacControl = 0x8808;
inline constexpr std::uint16_t kEtherTypeRoceV1 = 0x8915;

inline constexpr std::size_t kEthernetSize_B = 14;
inline constexpr std::size_t kVlanTagSize_B = 4;

// Tag control information: priority (PCP) 3 bits, drop eligible 1, VLAN id 12.
constexpr std::uint16_t vlan_tci(std::uint8_t priority, std::uint16_t vlan_id, bool drop_eligible = false) {
  return static_cast<std::uint16_t>(priority << 13 | (drop_eligible ? 1 << 12 : 0) | (vlan_id & 0xfff));
}
constexpr std::uint8_t vlan_priority(std::uint16_t tci) {
  return static_cast<std::uint8_t>(tci >> 13);
}
constexpr std::uint16_t vlan_id(std::uint16_t tci) {
  return tci & 0xfff;
}

struct EthernetHeader {
  MacAddress dst{};
  MacAddress src{};
  std::optional<std::uint16_t> vlan_tci{};
  std::uint16_t ether_type = 0;  // of what follows the tag

  friend bool operator==(const EthernetHeader&, const EthernetHeader&) = default;
};

class EthernetView {
 public:
  static tl::expected<EthernetView, WireError> parse(Bytes frame);

  MacAddress dst() const;
  MacAddress src() const;
  std::optional<std::uint16_t> vlan_tci() const;
  std::uint16_t ether_type() const { return be16(bytes_, header_size_B_ - 2); }
  std::size_t header_size_B() const { return header_size_B_; }
  Bytes payload() const { return bytes_.subspan(header_size_B_); }
  EthernetHeader header() const { return {dst(), src(), vlan_tci(), ether_type()}; }

 private:
  EthernetView(Bytes bytes, std::size_t header_size_B) : bytes_(bytes), header_size_B_(header_size_B) {}
  Bytes bytes_;
  std::size_t header_size_B_;
};

constexpr std::size_t ethernet_size_B(const EthernetHeader& header) {
  return kEthernetSize_B + (header.vlan_tci ? kVlanTagSize_B : 0);
}
// Returns the bytes written: ethernet_size_B.
std::size_t write_ethernet(const EthernetHeader& header, MutableBytes out);

}  // namespace weft::wire
