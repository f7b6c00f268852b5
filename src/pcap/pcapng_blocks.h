// Numbers of the pcapng format (draft-ietf-opsawg-pcapng) that its reader and its writer need.
#pragma once

#include <cstdint>

namespace weft::pcap {

inline constexpr std::uint32_t kSectionHeaderBlock = 0x0a0d0d0a;  // the same in both byte orders
inline constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
inline constexpr std::uint32_t kInterfaceDescriptionBlock = 1;
inline constexpr std::uint32_t kObsoletePacketBlock = 2;
inline constexpr std::uint32_t kSimplePacketBlock = 3;
inline constexpr std::uint32_t kInterfaceStatisticsBlock = 5;
inline constexpr std::uint32_t kEnhancedPacketBlock = 6;

// Options: of any block, of the section, of an interface, of a packet, of an interface's statistics.
inline constexpr std::uint16_t kOptEnd = 0;
inline constexpr std::uint16_t kOptComment = 1;
inline constexpr std::uint16_t kShbUserAppl = 4;
inline constexpr std::uint16_t kIfName = 2;
inline constexpr std::uint16_t kIfDescription = 3;
inline constexpr std::uint16_t kIfSpeed = 8;
inline constexpr std::uint16_t kIfTsresol = 9;
inline constexpr std::uint16_t kIfFcslen = 13;
inline constexpr std::uint16_t kIfTsoffset = 14;
inline constexpr std::uint16_t kEpbFlags = 2;
inline constexpr std::uint16_t kEpbDropcount = 4;
inline constexpr std::uint16_t kIsbIfrecv = 4;
inline constexpr std::uint16_t kIsbIfdrop = 5;
inline constexpr std::uint16_t kIsbOsdrop = 7;

}  // namespace weft::pcap
