// The node that this process runs on.
#pragma once

#include "verbs/protocol.h"

namespace weft::preload {

// Asked once; null without a world.
const char* node_name();
// Address of a node on the management network; false when the world has no such node.
bool look_up(const char* name, verbs::Address& address);
bool own_address(verbs::Address& address);

}  // namespace weft::preload
