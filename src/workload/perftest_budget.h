// Where a link's bandwidth went in one bandwidth test, and whether the result is a healthy one. The sending port
// accounts for its own time: what it sent (payload, headers, packets sent again) and, when it was idle, what for
// (nic/wait.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "nic/counters.h"
#include "workload/perftest_options.h"

namespace weft::workload {

// Of the port that sends the payload: the client's, of READ the server's.
struct PortAccount {
  std::int64_t line_rate_bps = 0;
  Time_ps elapsed_ps = 0;  // of the measured stretch; 0: not known
  std::uint64_t payload_B = 0;
  std::uint64_t line_B = 0;  // everything it sent, with preamble, FCS and gap
  std::uint64_t resent_packets = 0;
  std::array<Time_ps, nic::kWaits> idle_ps{};
};
// What a port has sent and waited for between two looks at its counters.
PortAccount account_between(const nic::Counters& before, const nic::Counters& after);

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
  bool healthy = false;           // within 5 % of what headers leave at the largest path MTU
};
PerftestBudget perftest_budget(const PerftestOptions& options, const PortAccount& account, std::uint64_t size_B,
                               std::uint32_t mtu_B);

// One sentence: healthy, or what explains how much of the gap.
std::string verdict_text(const PerftestBudget& budget);
// The whole account, a line each.
std::string budget_text(const PerftestBudget& budget, std::uint64_t size_B);

}  // namespace weft::workload
