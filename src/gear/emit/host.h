// Back ends for what is not a switch: hosts with their NICs, containerlab and NVIDIA Air.
#pragma once

#include "gear/emit/switch.h"

namespace weft::gear {

void emit_host(const lab::Lab& lab, std::uint32_t host, const RoutingPlan& plan, const EmitOptions& options,
               SwitchOutput& out);
// Files of the lab: NAME.air.json, NAME.clab.yml with what its nodes load.
void emit_air(const lab::Lab& lab, Emission& emission);
void emit_containerlab(const lab::Lab& lab, const RoutingPlan& plan, const EmitOptions& options, Emission& emission);

}  // namespace weft::gear
