// Link types of capture files (LINKTYPE_ values of tcpdump.org): what the first bytes of a packet are.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::pcap {

inline constexpr std::uint16_t kLinkTypeNull = 0;  // BSD loopback: address family in the host's byte order
inline constexpr std::uint16_t kLinkTypeEthernet = 1;
inline constexpr std::uint16_t kLinkTypeRawDlt = 12;  // raw IP as some systems number it
inline constexpr std::uint16_t kLinkTypeRaw = 101;    // raw IP, the version is in the first byte
inline constexpr std::uint16_t kLinkTypeLinuxCooked = 113;
inline constexpr std::uint16_t kLinkTypeErf = 197;  // Endace: a record header, then Ethernet, InfiniBand, ...
inline constexpr std::uint16_t kLinkTypeIpv4 = 228;
inline constexpr std::uint16_t kLinkTypeIpv6 = 229;
inline constexpr std::uint16_t kLinkTypeInfiniBand = 247;  // from the local route header on
inline constexpr std::uint16_t kLinkTypeLinuxCooked2 = 276;

// "Ethernet", "Linux cooked", ...; "unknown" for the others.
std::string_view link_type_name(std::uint16_t link_type);

}  // namespace weft::pcap
