// Back ends for what is not a switch: hosts with their NICs, and containerlab.
#pragma once

#include "gear/emit/switch.h"

namespace weft::gear {

void emit_host(const lab::Lab& lab, std::uint32_t host, const RoutingPlan& plan, const EmitOptions& options,
               SwitchOutput& out);
void emit_containerlab(const lab::Lab& lab, const RoutingPlan& plan, const EmitOptions& options, Emission& emission);

}  // namespace weft::gear
