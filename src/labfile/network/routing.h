// routing: how switches choose among equal paths, and static routes that win over them.
#pragma once

#include "labfile/sections.h"

namespace weft::lab {

// The keys of one routing map over `config`. True when it gave a hash seed.
bool read_routing(const YamlNode& node, fabric::RoutingConfig& config, ProblemList& problems);
// `routes` of one switch; hosts and links are known.
void read_routes(const YamlNode& node, const NodeState& state, LabContext& context);

}  // namespace weft::lab
