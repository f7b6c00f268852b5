// How far apart two devices of a machine are, as NCCL says it (graph/topo.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::nccl {

// In the order of growing distance; NCCL compares them by number.
enum class PathType : std::uint8_t { kLoc, kNvl, kNvb, kC2c, kPix, kPxb, kP2c, kPxn, kPhb, kSys, kNet, kDis };
std::string_view to_string(PathType type);  // "PXB"
inline PathType farther(PathType type) {
  return static_cast<PathType>(static_cast<std::uint8_t>(type) + 1);
}

}  // namespace weft::nccl
