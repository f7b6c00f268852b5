// Deadlock by pauses: a queue is stopped by the group that it feeds, the group is full of packets that wait in a queue
// which is stopped in turn, and so on around. Read when a run ends with packets still held by switches.
#pragma once

#include <string>
#include <vector>

#include "world/world.h"

namespace weft::lab {

// Each a list of ports, "s1:swp2", every one of them stopped by the next and the last by the first. Cycles share no
// queue.
std::vector<std::vector<std::string>> circular_waits(World& world);

}  // namespace weft::lab
