// The pause logs of all ports of a run as one list, so that the way a pause spreads can be read from top to bottom.
#pragma once

#include <string>
#include <vector>

#include "results/run_result.h"
#include "store/rows/fabric_rows.h"

namespace weft::lab {

struct PauseRow {
  Time_ps time_ps = 0;
  std::string port, peer;    // "leaf0:swp1"
  std::uint8_t classes = 0;  // one bit each: what happened to several at one instant is one row
  bool sent = false;
  fabric::PauseEnd what = fabric::PauseEnd::kStart;
  // Of an XOFF: the queue behind it, of a switch that recorded it, and the cause, of a NIC.
  std::string queue_port, nic_cause;
  int queue = -1;
  std::uint64_t queue_B = 0, group_B = 0, egress_B = 0;
};

inline constexpr std::size_t kMostPauseRows = 100'000;
// The first of them in order of time, ports of hosts first within an instant; `left_out` are events that the logs or
// this list had no room for. What is open at the end of a full log ends there (kLogFull).
std::vector<PauseRow> merged_pauses(const RunResult& result, std::uint64_t& left_out);
// "XOFF sent to h0:p0", "stopped by leaf0:swp1 …".
std::string pause_text(const PauseRow& row);
store::PauseEventRow pause_event(const PauseRow& row);
// "start", or how it ended: "xon", "expired", "link down", "watchdog"; "log full": after the last that was kept.
const char* pause_state(fabric::PauseEnd what);
// "3", "3 4", "all".
std::string classes_text(std::uint8_t classes);

}  // namespace weft::lab
