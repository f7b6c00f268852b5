// What a run leaves behind: what workloads measured, what ports and switches counted, what became of every packet.
// Everything that a report says is here; nothing in it depends on wall time, threads or windows.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/lab.h"
#include "results/evidence.h"
#include "results/message_latency.h"
#include "spec/address_book.h"
#include "spec/forwarder_counters.h"
#include "spec/ledger.h"
#include "spec/nic_counters.h"
#include "spec/switch_counters.h"
#include "spec/workload_kinds.h"
#include "store/series.h"

namespace weft::lab {

using workload::FlowOutcome;
using workload::HopOutcome;

struct WorkloadOutcome {
  const WorkloadConfig* config = nullptr;
  workload::Outcome result;

  // What a workload of this kind left behind, or null.
  template <class Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&result);
  }
  // `call` with the options and the outcome of its kind.
  template <class Call>
  decltype(auto) visit(Call&& call) const {
    return workload::visit(config->options, result, std::forward<Call>(call));
  }
};

struct PortOutcome {
  std::string name;    // "vm00:p0"
  std::string device;  // "mlx5_0"
  std::string peer;    // "leaf0:swp1"
  std::string address;
  std::int64_t rate_bps = 0;
  nic::Counters counters;
  fabric::PortPauseLog pauses;
  std::array<std::uint64_t, fabric::kClasses> pause_rx{}, pause_rx_transitions{};
  std::array<Time_ps, fabric::kClasses> pause_rx_ps{};
};

struct ForwarderPortOutcome {
  fabric::ForwarderPort config;
  fabric::ForwarderPortCounters counters;
};
struct SwitchPortOutcome {
  std::string name;  // "swp1"
  std::string peer;  // "h0:p0"
  std::int64_t rate_bps = 0;
  fabric::SwitchPortCounters counters;
  // By class: pause frames received, XOFF transitions and the time spent stopped.
  std::array<std::uint64_t, fabric::kClasses> pause_rx{}, pause_rx_transitions{};
  std::array<Time_ps, fabric::kClasses> pause_rx_ps{};
  // By priority group, in bytes.
  std::array<std::uint64_t, fabric::kClasses> max_shared_B{}, max_headroom_B{};
  std::optional<ForwarderPortOutcome> forwarder;  // of a software forwarder
};
struct SwitchOutcome {
  const SwitchConfig* config = nullptr;
  std::vector<SwitchPortOutcome> ports;  // those with a cable
  std::uint64_t max_buffer_B = 0, pool_B = 0;
  fabric::DropLog drops;
  fabric::BoundedLog<fabric::PauseEvent> pauses;
  std::uint64_t held_packets = 0;
  std::vector<fabric::SoftirqCounters> softirq;  // of a software forwarder, by CPU
};

struct LinkOutcome {
  std::string from, to;
  fabric::Ledger ledger;  // both ends added
  std::uint64_t in_flight = 0;
  bool balances() const { return ledger.sent + ledger.copies + ledger.replicas == ledger.ended() + in_flight; }
};

struct FaultOutcome {
  std::string name;
  std::string where;
  std::uint64_t hits = 0;
};

struct ExpectationOutcome {
  const Expectation* expectation = nullptr;
  std::optional<double> value;  // nothing: the run has no such value
  bool met = false;
};

// What a world that was up was told, as a line that can be run again.
struct TakenCommand {
  Time_ps at_ps = 0;
  std::string state;  // done, failed, waits
  std::string words, line;
  std::string problem;  // of one that failed
};

struct RunResult {
  Time_ps end_ps = 0;
  bool interrupted = false;
  bool cut_off = false;  // the lab's duration was over before the world came to rest
  std::vector<WorkloadOutcome> workloads;
  fabric::AddressBook book;  // by port id: the ports of hosts, then of switches
  std::vector<PortOutcome> ports;
  std::vector<SwitchOutcome> switches;
  std::vector<LinkOutcome> links;
  std::vector<FaultOutcome> faults;
  std::vector<FaultTime> fault_times;  // of those that took effect, by their start
  std::vector<TakenCommand> commands;  // of a world that was up, as it was told
  std::vector<ExpectationOutcome> expectations;
  // Ports whose queues were stopped by each other when the run ended: each by the next, the last by the first.
  std::vector<std::vector<std::string>> circular_waits;
  // What nodes recorded of it: senders, events, what receivers waited for (results/evidence.h).
  bool recorded = false;
  std::vector<SenderEvidence> senders;
  std::vector<LatencyEvidence> other_latency;
  MessageLatency latency;  // of the senders' messages, when the run has ended
  std::vector<EventEvidence> noted;
  std::vector<ReceiveEvidence> receivers;
  std::vector<RouteGroupEvidence> route_groups;  // at the start
  std::uint64_t records_left_out = 0;
  std::map<std::string, std::uint64_t> noted_left_out;      // of these, events by kind
  std::vector<std::pair<Time_ps, Time_ps>> workload_times;  // by workload: its turn
  store::SeriesSet series;                                  // empty unless the lab has a sample interval
  std::uint64_t captured_frames = 0;
  std::uint64_t uncaptured_frames = 0;     // came when the capture was full
  std::vector<std::string> capture_files;  // as they were named, oldest first
  std::string capture_error;               // empty, or why the capture is not there
  std::uint64_t events = 0;                // of all nodes: port service, arrivals, timers, program steps
  std::uint64_t hops = 0;                  // link traversals of packets

  bool expectations_met() const;
  // What workloads did not do, one line each. An expectation of how it ends (exit, failed, wc_status, done, …) judges a
  // workload in place of this.
  std::vector<std::string> failures() const;
  bool ledger_balances() const;
};

std::string address_text(const fabric::PortAddress& port);  // "10.0.0.1"

}  // namespace weft::lab
