// The path of a flow when nobody else is there: what its completion time would be alone, for the slowdown. Follows the
// routes that hold at the start, the first of equal ones.
#pragma once

#include <optional>

#include "lab/world.h"
#include "workload/flow_result.h"

namespace weft::lab {

// Nothing when there is no route, or when routes lead in a circle. `mtu_B` is the payload of a full packet.
std::optional<workload::IdlePath> idle_path(World& world, const PortRef& from, const PortRef& to, std::uint64_t size_B,
                                            std::uint32_t mtu_B);

}  // namespace weft::lab
