// Why a run took as long as it did, from its evidence: how busy each link was, what held each flow back and who was
// behind it, and incidents from their root to their victims. Causes are those that nodes recorded; where they did not,
// it says so. The report ends with summary_text(); `weft explain` (src/explain) prints everything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "results/evidence.h"
#include "results/run_result.h"

namespace weft::lab {

Evidence evidence_of(const Lab& lab, const RunResult& result);
// Of that, only workloads, flows and senders.
Evidence sender_evidence(const Lab& lab, const RunResult& result);
// Adds to those of one node, queue and reason.
void merge_drop(std::vector<DropEvidence>& drops, const DropEvidence& drop);

struct LinkUse {
  std::string from, to;
  std::int64_t rate_bps = 0;
  double busy = 0, paused = 0;  // of the time in which there was traffic
  std::uint64_t packets = 0, marked = 0, max_queue_B = 0, lost = 0;
  std::string lost_text;  // "12 Tail drop, 3 FCS error"
};

struct CauseShare {
  std::string cause;
  double share = 0;
};

// The ports by which packets left between two times; of several queue pairs there may be several at once.
struct FlowWay {
  Time_ps from_ps = 0, until_ps = kNever_ps;
  std::vector<std::string> path;
  friend bool operator==(const FlowWay&, const FlowWay&) = default;
};

struct FlowAnswer {
  std::string id;        // "incast/3"; of workloads that are no flows "h0:p0>h1:p0"
  std::string workload;  // empty: several may have made it
  std::string name;      // of a graph
  std::string from, to;
  std::size_t queue_pairs = 0;
  std::string state;  // of flows
  Time_ps first_ps = 0, last_ps = 0;
  double goodput_bps = 0;                // of flows that are done
  double no_work = 0;                    // the part of the time in which all that was posted was done
  double wire = 0;                       // of the rest, in which it had work: its port sent for it
  std::vector<CauseShare> shares;        // of the time with work, the largest first; they add up to one
  std::string bottleneck;                // one of their causes, or "none"
  double share = 0;                      // of its time
  std::string because;                   // who was behind it
  std::string root;                      // port where that began; empty: not known, or none
  std::vector<std::string> path;         // ports, of all its queue pairs, at its end; empty: depends on the moment
  std::vector<FlowWay> ways;             // the same with times, and those before routes changed
  bool reads = false;                    // its data are READ responses
  std::vector<std::uint32_t> qpns;       // of its senders
  std::uint64_t packets = 0, again = 0;  // sent; of these, sent before
  bool is_latency_test = false;          // one message at a time: it waits for its round trips
  double weight = 0;                     // ps: how long it sent, and a hundredth of the time in which it had work
  Time_ps fct_ps = 0;                    // of flows that are done
  double slowdown = 0;                   // of them; 0: not known
};

// A rank or a group of a job that the others waited for.
struct Straggler {
  std::string workload, who, reason;
  double lost_us = 0;   // in a step
  Time_ps time_ps = 0;  // when what is behind it began, or the workload
  std::string port;     // where; empty: not in the network
};

// One step of an incident: the first of so many, and the last.
struct ChainStep {
  Time_ps time_ps = 0, last_ps = 0;
  std::uint64_t count = 1;
  std::string what;  // queue, ce_mark, cnp, rate_cut, pause, pause_upstream, drop, recovery, watchdog, link, victim
  std::string where;
  std::string text;
  // To find the packet in a capture: port by which it leaves, and what it is.
  std::string port;
  std::uint32_t qpn = 0, psn = 0;
  std::optional<std::uint64_t> packet;  // number in the capture
};

struct Incident {
  std::string kind;  // deadlock, storm, receiver, congestion, link, loss
  std::string root;  // "leaf0:swp9"
  std::string title;
  Time_ps first_ps = 0, last_ps = 0;
  std::vector<ChainStep> steps;      // in order of time
  std::vector<std::string> flows;    // that pass the root
  std::vector<std::string> victims;  // that do not, and were stopped all the same
  double weight = 0;                 // the largest first
};

struct Explanation {
  std::string lab;
  Time_ps from_ps = 0, to_ps = 0;  // the time that it is about
  std::vector<LinkUse> links;      // the busiest first
  std::vector<FlowAnswer> flows;   // as the run has them
  std::vector<Incident> incidents;
  std::vector<SettingEvidence> settings;  // that differ: those of devices that incidents concern first
  std::vector<Straggler> stragglers;      // those that cost most first
  std::vector<std::string> notes;         // what is not known, and why
  std::vector<std::string> failures;
  std::vector<std::string> kernel_tcp;  // workloads that have no account
};

Explanation explain(const Evidence& evidence);

// Flows that one cause held back.
struct HeldGroup {
  std::string cause;
  std::size_t flows = 0;
  double time_ps = 0;                // how long, by the weight of each
  const FlowAnswer* most = nullptr;  // the one of which it took the largest part
};
// The cause that held most data back first. Latency tests that wait for their round trips are held back by nothing.
std::vector<HeldGroup> held_groups(const Explanation& explanation);
// The flow that took longest; null: none is done.
const FlowAnswer* slowest_flow(const Explanation& explanation);

// "h3: dscp is 0, and 26 in the lab's contract: leaf0 takes RoCE as priority 0, ..."
std::string setting_text(const SettingEvidence& setting);
// Its devices took part in an incident that such a setting can be behind.
bool concerns(const Explanation& explanation, const SettingEvidence& setting, const Incident& incident);

// Lines: the links, the flows, settings that differ, what happened.
std::string summary_text(const Explanation& explanation);
// The same at the end of a report.
std::string report_summary(const Lab& lab, const RunResult& result);

}  // namespace weft::lab
