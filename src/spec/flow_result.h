// What a run of flows measured, and what flow studies make of it: completion times, goodput, fairness, slowdown.
// Times are from the start of the workload.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "spec/flow_options.h"
#include "spec/perftest_budget.h"
#include "spec/work.h"

namespace weft::workload {

// kRunning after the run: it was interrupted, or nothing more would ever happen.
enum class FlowState : std::uint8_t { kWaiting, kRunning, kDone, kFailed };

struct FlowRow {
  std::uint32_t id = 0;
  std::uint32_t source = 0;  // endpoints
  std::uint32_t destination = 0;
  std::uint32_t qpn = 0;  // the sender's
  std::uint32_t remote_qpn = 0;
  std::uint64_t size_B = 0;
  Time_ps start_ps = 0;       // when it was to start; kNever_ps while it waits for others
  Time_ps first_post_ps = 0;  // when the CPU got to it
  Time_ps end_ps = 0;         // the last completion, or the first error, is visible to the sender
  FlowState state = FlowState::kWaiting;
  nic::WcStatus status = nic::WcStatus::kSuccess;  // of the first completion with an error
  std::uint8_t vendor_error = 0;

  // Of flows that are done.
  Time_ps fct_ps() const { return end_ps - start_ps; }
  double goodput_bps() const { return static_cast<double>(size_B) * 8e12 / static_cast<double>(fct_ps()); }
  // What went wrong, in perftest's words; empty unless it failed.
  std::string failure() const;
};

struct FlowSummary {
  std::uint64_t done = 0;
  std::uint64_t failed = 0;
  std::uint64_t unfinished = 0;
  std::uint64_t bytes_done_B = 0;
  Time_ps last_end_ps = 0;  // of those that are done
  double goodput_bps = 0;   // bytes done, from the first start to the last end
  double jain = 1;          // of the goodputs of those that are done
  Time_ps fct_p50_ps = 0, fct_p99_ps = 0, fct_p999_ps = 0, fct_max_ps = 0;
  double slowdown_p50 = 0, slowdown_p99 = 0;  // 0 when the paths are not known
};

// What switches wrote into a flow's packets, the worst of each hop.
struct HopOutcome {
  std::string port;  // "leaf0:swp31", the way out
  std::uint64_t max_queue_B = 0;
  Time_ps max_stay_ps = 0;
};
struct FlowOutcome {
  FlowRow row;
  std::string from, to;  // "h0:p0"
  double slowdown = 0;   // of one that is done, against the same flow alone; 0: not known
  std::uint64_t retransmitted_packets = 0;
  std::uint64_t cnps_received = 0;
  std::vector<HopOutcome> hops;  // with telemetry
  // Of one that is done, where it was asked for (--why): where the sending port's bandwidth went meanwhile.
  std::optional<PerftestBudget> budget;
};
struct FlowsOutcome {
  using Options = FlowOptions;

  std::vector<FlowOutcome> flows;
  std::vector<Time_ps> ready_ps;  // of a graph, by flow: when the last that it waits for had ended, or kNever_ps
  FlowSummary summary;
};

}  // namespace weft::workload
