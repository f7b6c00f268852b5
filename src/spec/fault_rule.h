// One fault of the lab's list: which frames of one link direction it hits, and what it does to them.
// Selection follows Lumina's event language ([lumina]): a QP by order of appearance, a PSN
// relative to the first one seen, and which (re)transmission of that PSN. What is a request and which PSN a packet has
// its transport says (engine/packet_format.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"

namespace weft::fabric {

enum class FaultAction : std::uint8_t {
  kDrop,
  kCorrupt,
  kCeMark,
  kDelay,
  kDuplicate,
  kCut,
  kFlap,
  kPauseStorm,
  kSlowReceiver
};
// Of a host port and not of frames: it sends XOFF without end, or empties its receive buffer slowly.
constexpr bool is_of_port(FaultAction action) {
  return action == FaultAction::kPauseStorm || action == FaultAction::kSlowReceiver;
}
// The link is down.
constexpr bool is_of_link(FaultAction action) {
  return action == FaultAction::kCut || action == FaultAction::kFlap;
}
// As lab files write it.
constexpr const char* name_of(FaultAction action) {
  constexpr const char* kNames[] = {"drop", "corrupt", "ce-mark",     "delay",        "duplicate",
                                    "cut",  "flap",    "pause-storm", "slow-receiver"};
  return kNames[static_cast<std::size_t>(action)];
}
// Of RoCE, kRequest: SEND, WRITE, READ request, atomic request, UD. kResponse: ACK, NAK, READ response, atomic ACK,
// CNP.
enum class FaultFrames : std::uint8_t { kAny, kRequest, kResponse };

struct FaultRule {
  std::string name;  // for comments and the report
  FaultAction action = FaultAction::kDrop;
  FaultFrames frames = FaultFrames::kAny;
  // Which frames. All that are given must match.
  std::optional<std::uint32_t> qp;            // 0-based: n-th destination QP seen in this direction
  std::optional<std::uint32_t> psn;           // relative to the first PSN of that QP in this direction
  std::optional<std::uint32_t> transmission;  // 1 = first time this PSN is seen (needs psn)
  std::optional<std::uint64_t> probability_ppb;
  Time_ps start_ps = 0;
  Time_ps end_ps = kNever_ps;
  // Action parameters.
  Time_ps delay_ps = 0;      // kDelay; kDuplicate: of the copy
  Time_ps flap_down_ps = 0;  // kFlap: down and up alternate from start_ps on
  Time_ps flap_up_ps = 0;
  std::uint8_t priority = 0;  // kPauseStorm
  std::int64_t rate_bps = 0;  // kSlowReceiver
};

}  // namespace weft::fabric
