// The commands that set a switch right, in the words of its operating system.
#pragma once

#include <cstdint>
#include <string>

#include "gear/bundle/switch.h"

namespace weft::gear {

enum class SwitchTask {
  kUp,        // a port
  kDown,      //
  kSpeed,     // number: Mb/s
  kMtu,       //
  kFec,       // word: "RS", "BaseR", "none"
  kPfcOn,     // number: priority
  kPfcOff,    //
  kTrust,     // sort packets by their DSCP
  kDscp,      // number: DSCP, other: the priority it should have
  kEcn,       // number: queue
  kEcnMark,   // a profile that drops
  kHeadroom,  // number: priority
  kCable,     // headroom for the cable's length; number: priority
  kClear,     // counters
  kDrops,     // show drops
};

struct SwitchValues {
  std::uint64_t number = 0, other = 0;
  std::string word;
};

// "on leaf1: config interface mtu Ethernet0 9100"
std::string switch_command(const SwitchState& device, const std::string& port, SwitchTask task,
                           const SwitchValues& values = {});

}  // namespace weft::gear
