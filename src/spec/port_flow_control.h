// How the two ends of a link hold each other back. Known to switches and NICs alike.
#pragma once

#include <cstdint>

namespace weft::fabric {

enum class FlowControl : std::uint8_t { kNone, kPfc, kPause };  // kPause: 802.3x, the whole link

}  // namespace weft::fabric
