#include "results/counters/drop_reason.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace weft::lab {

namespace {

using fabric::Fate;

constexpr DropReason kReasons[] = {
    {Fate::kTailDrop, 503, "Tail drop", "Buffer", "tail_drop", "Monitor network congestion"},
    {Fate::kWred, 504, "WRED", "Buffer", "wred_drop", "Monitor network congestion; are the packets ECT?"},
    {Fate::kNoHeadroom, 0, "headroom exhausted", "-", "headroom_drop",
     "give the group headroom for this cable and MTU"},
    {Fate::kNoRoute, 323, "LPM miss (no route)", "Router", "no_route_drop", "add a route, or mend the link it used"},
    {Fate::kTtlExpired, 327, "TTL value is too small", "Router", "ttl_drop", "look for a routing loop"},
    {Fate::kTooBig, 326, "Packet larger than MTU", "Router", "mtu_drop", "raise the MTU of the port it leaves by"},
    {Fate::kWatchdogDrop, 0, "PFC watchdog", "-", "watchdog_drop", "find who sends the pauses"},
    {Fate::kPortDown, 0, "port down", "-", "port_down_drop", "it waited for a link that went down"},
    {Fate::kCpuDrop, 0, "CPU path full", "-", "cpu_drop", "offload routing to the ASIC"},
    {Fate::kRxRingFull, 0, "RX ring full", "-", "rx_out_of_buffer",
     "a longer rx_ring (ethtool -G), more CPUs, or ECN on its qdisc"},
};
// The MAC of a port drops it, and the ledger of its link counts it (rx_crc_errors): not among a switch's own counters.
constexpr DropReason kBadFcs = {Fate::kFcsError, 0, "bad FCS", "-", "fcs_drop", "look for bit errors of the cable"};

}  // namespace

std::span<const DropReason> drop_reasons() {
  return kReasons;
}

const DropReason& drop_reason(Fate fate) {
  if (fate == Fate::kFcsError) return kBadFcs;
  const auto* found = std::find_if(std::begin(kReasons), std::end(kReasons),
                                   [&](const DropReason& reason) { return reason.fate == fate; });
  WEFT_CHECK(found != std::end(kReasons), "a switch drops for a reason of a switch");
  return *found;
}

}  // namespace weft::lab
