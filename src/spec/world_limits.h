// What a packet record and a route table can name (engine/packet.h, fabric/route_table.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

inline constexpr std::uint32_t kMaxHostPorts = 0xfffff;
inline constexpr std::size_t kMaxSwitches = 0xffff;

}  // namespace weft
