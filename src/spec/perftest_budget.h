// Where a link's bandwidth went in one bandwidth test: the account of the port that sent, and what
// tools/perftest/budget.h makes of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "spec/wait.h"

namespace weft::workload {

// Packets that were lost in a stretch of time, in the whole world.
struct LossAccount {
  std::uint64_t cable = 0;      // bit errors, a link that is down
  std::uint64_t elsewhere = 0;  // in switches and forwarders, by faults of the lab
};

// Of the port that sends the payload: the client's, of READ the server's.
struct PortAccount {
  std::int64_t line_rate_bps = 0;
  Time_ps elapsed_ps = 0;  // of the measured stretch; 0: not known
  std::uint64_t payload_B = 0;
  std::int64_t uncounted_B = 0;  // payload that left and was not completed when the test ended
  std::uint64_t line_B = 0;      // everything it sent, with preamble, FCS and gap
  std::uint64_t resent_packets = 0;
  std::array<Time_ps, nic::kWaits> idle_ps{};
  // Of the program: its CPU's time in all, and how much of it others took.
  Time_ps cpu_ps = 0, contention_ps = 0;
  // Of the port that takes the payload: how long it had stopped its peer, packets that found no room in its buffer, and
  // what its writes waited for.
  Time_ps receiver_paused_ps = 0;
  std::uint64_t receiver_discards = 0;
  std::array<double, nic::kPcieLimits> receiver_waits{};
  LossAccount lost;
  // The link of an end that is slower than both of its ports, and how much; empty: none is.
  std::string slow_link;
};
struct BudgetLine {
  std::string name;  // "payload", "headers", …
  double Gbps = 0;
  std::string note;  // why, or what to do; may be empty
};

struct PerftestBudget {
  double line_Gbps = 0;
  double framing_Gbps = 0;       // what headers leave at this size and path MTU
  double best_framing_Gbps = 0;  // and at the largest path MTU
  double average_Gbps = 0;
  std::vector<BudgetLine> lines;  // payload first, then by the order of suspicion; they add up to the line
  std::string slow_link;          // of the account
  bool healthy = false;           // within 5 % of what headers leave at the largest path MTU, and no slow link
};

}  // namespace weft::workload
