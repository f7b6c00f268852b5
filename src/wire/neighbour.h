// Address resolution: ARP (RFC 826) for IPv4 over Ethernet, Neighbour Solicitation and Advertisement (RFC 4861 4.3,
// 4.4) for IPv6. A port to the outside answers for the hosts of the lab. Frames may carry one 802.1Q tag, which the
// answer carries too. Not modelled: gratuitous ARP as a claim, duplicate address detection by others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "wire/bytes.h"
#include "wire/ethernet.h"
#include "wire/ipv6.h"

namespace weft::wire {

struct NeighbourRequest {
  IpAddress sender{};  // IPv4 as ::ffff:a.b.c.d; all zero where the sender has none yet
  IpAddress target{};
  bool v4 = true;
  MacAddress sender_mac{};
  std::optional<std::uint16_t> vlan_tci{};

  friend bool operator==(const NeighbourRequest&, const NeighbourRequest&) = default;
};

inline constexpr std::uint16_t kEtherTypeArp = 0x0806;
inline constexpr std::size_t kMaxNeighbourFrame_B = kEthernetSize_B + kVlanTagSize_B + kIpv6Size_B + 32;

// Nothing for a frame that is no valid request.
std::optional<NeighbourRequest> parse_neighbour_request(Bytes frame);

// Both return the size. `out` holds kMaxNeighbourFrame_B.
std::size_t build_neighbour_request(const NeighbourRequest& request, MutableBytes out);
// `mac` has the target's address.
std::size_t build_neighbour_answer(const NeighbourRequest& request, const MacAddress& mac, MutableBytes out);

}  // namespace weft::wire
