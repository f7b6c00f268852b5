// Numbers of the pcapng format (draft-ietf-opsawg-pcapng) that its reader and its writer need.
#pragma once

#include <cstdint>

namespace weft::pcap {

inline constexpr std::uint16_t kLinkTypeEthernet = 1;

inline constexpr std::uint32_t kSectionHeaderBlock = 0x0a0d0d0a;  // the same in both byte orders
inline constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
inline constexpr std::uint32_t kInterfaceDescriptionBlock = 1;
inline constexpr std::uint32_t kSimplePacketBlock = 3;
inline constexpr std::uint32_t kEnhancedPacketBlock = 6;

}  // namespace weft::pcap
