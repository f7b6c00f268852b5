// Inside the world's set-up: what its two source files share.
#pragma once

#include <cstdint>
#include <vector>

#include "model/lab.h"

namespace weft::lab {

inline constexpr std::uint32_t kNoId = 0xffffffff;
// Bytes that a cut-through switch needs before it can forward: preamble and 64 bytes of frame. Estimate.
inline constexpr std::uint32_t kCutThroughHeader_B = 72;

// A cable loses or regains its signal.
struct LinkStateChange {
  Time_ps time_ps;
  std::size_t link;  // of Lab::links
  bool up;
};
std::vector<LinkStateChange> link_state_changes(const Lab& lab);

}  // namespace weft::lab
