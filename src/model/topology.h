// The fabrics that a lab can have by name (`fabric: {template: …}`). docs/lab-file.md draws them.
#pragma once

#include <cstdint>

namespace weft::lab {

enum class FabricTemplate : std::uint8_t {
  kDirect,
  kRing,
  kSingleSwitch,
  kLeafSpine,
  kRailOptimised,
  kFatTree,
  kDragonfly
};

}  // namespace weft::lab
