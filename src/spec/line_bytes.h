// Bytes that a frame takes on an Ethernet line beyond what captures show.
#pragma once

#include <cstdint>

namespace weft::fabric {

// Bytes of line time that every packet has: preamble 8, Ethernet 14, IPv4 20, UDP 8, the transport's CRC 4, FCS 4,
// inter-frame gap 12. What it has between them and its payload it says in `header_words`.
inline constexpr std::uint32_t kFraming_B = 8 + 14 + 20 + 8 + 4 + 4 + 12;
inline constexpr std::uint32_t kMinLine_B = 84;       // 64-byte frame, preamble, gap
inline constexpr std::uint32_t kLineOverhead_B = 24;  // preamble, FCS, gap: line bytes that no capture shows
inline constexpr std::uint32_t kLineGap_B = 20;       // preamble and gap: line bytes that no buffer holds

}  // namespace weft::fabric
