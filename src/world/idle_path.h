// The path of a flow without other traffic: what its completion time would be alone, for the slowdown. Follows the
// routes that hold at the start, the first of equal ones.
#pragma once

#include <optional>

#include "world/world.h"

namespace weft::lab {

// Completion time of a flow of `size_B`. Nothing when there is no route, or when routes lead in a circle. `mtu_B` is
// the payload of a full packet.
std::optional<Time_ps> idle_fct_ps(World& world, const PortRef& from, const PortRef& to, std::uint64_t size_B,
                                   std::uint32_t mtu_B);

}  // namespace weft::lab
