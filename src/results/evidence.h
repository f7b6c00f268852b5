// What a run tells about why things took as long as they did: the input of explanation.h. Made from a RunResult
// (evidence.cc) for the report, and read back from results.sqlite (src/explain) for `weft explain`. Only what nodes
// recorded: who held which packets, and when; no judgement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log_histogram.h"
#include "base/time.h"
#include "store/rows/flow_rows.h"

namespace weft::lab {

// What a sender did with its time. The others are names of workload::pcie_cause().
namespace held {
inline constexpr const char* kSending = "sending";
inline constexpr const char* kAgain = "sending again";  // of the former, by packets that were sent before
inline constexpr const char* kPortBusy = "port busy";
inline constexpr const char* kStart = "start";
inline constexpr const char* kNoWork = "no work";
inline constexpr const char* kCpu = "CPU";
inline constexpr const char* kRoundTrip = "round trip";
inline constexpr const char* kMessageRate = "NIC message rate";
inline constexpr const char* kContext = "NIC context cache";
inline constexpr const char* kPace = "congestion control";
inline constexpr const char* kPause = "paused";
inline constexpr const char* kRecovery = "loss recovery";
inline constexpr const char* kQueueing = "queueing";    // of round trips: its packets waited in a queue of its path
inline constexpr const char* kSockets = "TCP sockets";  // of collectives, in place of RDMA
}  // namespace held

struct HeldTime {
  std::string cause;
  Time_ps time_ps = 0;
  friend bool operator==(const HeldTime&, const HeldTime&) = default;
};

// The way of its packets until routes changed.
struct EarlierPath {
  Time_ps until_ps = 0;
  std::vector<std::string> path;
};

// A queue pair that sends requests with data, or READ responses.
struct SenderEvidence {
  std::string from, to;  // "h0:p0"; `to` is empty where it is not connected
  std::uint32_t qpn = 0, peer_qpn = 0;
  bool replies = false;
  bool only_asks = false;                // READ and atomic requests: the data comes from the other end
  Time_ps first_ps = 0, last_ps = 0;     // its first work request, and the last that is known of it
  std::uint64_t packets = 0, again = 0;  // sent; of these, sent before
  std::vector<HeldTime> held;            // what it did meanwhile; they add up
  std::vector<std::string> path;  // ports by which its packets leave, its own first; empty: that depends on the moment
  std::vector<EarlierPath> earlier;  // in order of time, where routes changed; `path` is the last
  std::string workload;              // whose queue pair it is; empty: not known
  LogHistogram latency;            // ps, of its messages (nic/record/port_record.h); only of a run that has just ended
  std::optional<std::int64_t> id;  // in the store, which numbers them from 1
};
// Messages of senders that were left out: the workload is known, the flow is not.
struct LatencyEvidence {
  std::string workload;
  LogHistogram latency;
};

// Events of a kind at one place that follow each other within 100 us are one.
struct EventEvidence {
  Time_ps first_ps = 0, last_ps = 0;
  std::uint64_t count = 1;
  std::string kind;  // ce_mark, cnp, rate_cut, nak, rnr, timeout, retransmission,
                     // pfc_storm, pfc_storm_over, link_down, link_up
  std::string port;  // where
  std::string peer;  // of a queue pair: the port at its other end
  int queue = -1;
  std::uint64_t queue_B = 0;
  std::string source, destination;  // of the first packet that was marked
  std::uint32_t qpn = 0, psn = 0;
  std::int64_t before_bps = 0, to_bps = 0;  // of a rate cut: before it, and the lowest
};

struct PauseEvidence {
  Time_ps time_ps = 0;
  std::string port, peer;
  unsigned classes = 0;
  bool sent = false;
  std::string what;       // "start", or how it ended
  std::string nic_cause;  // of an XOFF of a NIC: receive buffer, slow memory, storm
  // Of an XOFF of a switch, if it was recorded: what the priority group of `port` held; the egress queue that most of
  // it waited for, how much of it did, and all that this queue held.
  std::string queue_port;
  int queue = -1;
  std::uint64_t queue_B = 0, group_B = 0, egress_B = 0;
};

// Packets that a switch lost for one reason at one queue, as far as they were logged.
struct DropEvidence {
  Time_ps first_ps = 0, last_ps = 0;
  std::uint64_t count = 0;
  std::string node, out_port;  // "leaf0:swp3", or empty: not decided yet
  int queue = -1;
  std::string reason;
  std::uint64_t queue_B = 0;        // the longest
  std::string source, destination;  // of the first
  std::uint32_t qpn = 0, psn = 0;
  struct Pair {
    std::string source, destination;
    std::uint64_t count = 0;
  };
  std::vector<Pair> pairs;  // whose they were; empty: `source` and `destination`
};

struct LinkEvidence {
  std::string from, to;
  std::int64_t rate_bps = 0;
  std::uint64_t packets = 0, line_B = 0;  // with preamble, FCS and gap
  Time_ps paused_ps = 0;                  // `from` was stopped by `to`: the class that was longest
  std::uint64_t marked = 0, max_queue_B = 0;
  std::vector<std::pair<std::string, std::uint64_t>> lost;  // on it and at its end: by reason
};

using FlowEvidence = store::FlowRow;

struct ReceiveEvidence {
  std::string port;
  std::string cause;  // what its writes to memory waited for
  Time_ps time_ps = 0;
};

struct FaultEvidence {
  std::string name, port;
  std::uint64_t hits = 0;
};

// A fault that took effect, and when. One of a link or a port lasts as long as its rule holds, one of frames from the
// first that it hit to the last.
struct FaultTime {
  std::string name, action;  // "drop #1", "drop"
  std::string port, peer;
  Time_ps from_ps = 0, to_ps = 0;
  std::uint64_t hits = 0;  // frames
};

// A CPU of a software forwarder, and a port's RX ring there.
struct ForwarderCpuEvidence {
  std::string node;
  std::uint32_t cpu = 0;
  std::uint64_t packets = 0;
  Time_ps busy_ps = 0;
};
struct RxRingEvidence {
  std::string port;
  std::uint32_t size = 0, most = 0;  // descriptors; in use
  std::uint64_t lost = 0;            // found none
};

// A switch that takes what is lossless to the hosts into a class that is not.
struct LossyClassEvidence {
  std::string node;
  int queue = -1;
  std::uint32_t dscp = 0, priority = 0, host_priority = 0;  // `priority` is the switch's
};

// A setting of some devices that differs from the lab's contract, or from most others (setting_differences.h).
struct SettingEvidence {
  std::vector<std::string> nodes;  // or ports
  std::string key;                 // in the words of the lab file: "queues.3.ecn"
  std::string value, usual;
  std::string reference;  // where the usual is: "in the lab's contract"
  std::string effect;     // what follows, as far as the lab says it; empty: not known
};

// Ports of a switch that flows are spread over by a hash: equal routes (ECMP), or the members of a LAG.
struct RouteGroupEvidence {
  std::string lag = {};                 // its name; empty: ECMP
  std::vector<std::string> ports = {};  // "leaf0:swp31"
};

// What a switch has for packets that wait, and what one lossless group may take of it while others hold some.
struct PoolEvidence {
  std::string node;
  std::uint64_t pool_B = 0;
  int alpha = 0;  // 2^n of what is free
};

// How the collectives of a workload went from machine to machine (workload::CollectiveUse).
struct CollectiveEvidence {
  std::string workload;
  std::uint64_t connections = 0, staged = 0, sockets = 0;
  Time_ps blocks_ps = 0, host_memory_ps = 0, working_ps = 0, proxy_ps = 0;
  std::string why;  // not from GPU memory, or not by RDMA
};

// Of a job: a rank or a group that the others waited for.
struct StragglerEvidence {
  std::string workload, who, reason;
  double lost_us = 0;  // in a step
};

inline constexpr const char* kLatencyTest = "perftest latency";  // a kind of workload
struct WorkloadEvidence {
  std::string name, kind;
  std::string client, server;      // of those that have two ends
  std::string failure;             // in one line; empty: none
  Time_ps from_ps = 0, to_ps = 0;  // its turn
};

struct Evidence {
  std::string lab;
  Time_ps from_ps = 0, end_ps = 0;
  bool is_window = false;  // only what lies between these times was kept
  bool interrupted = false, cut_off = false;
  bool recorded = false;  // nodes kept records: senders and events are there
  Time_ps sample_interval_ps = 0;
  std::uint64_t samples = 0;
  std::vector<WorkloadEvidence> workloads;
  std::vector<FlowEvidence> flows;
  std::vector<SenderEvidence> senders;
  std::vector<LatencyEvidence> other_latency;
  std::vector<LinkEvidence> links;
  std::vector<PauseEvidence> pauses;
  std::vector<EventEvidence> events;
  std::vector<DropEvidence> drops;
  std::vector<ReceiveEvidence> receivers;
  std::vector<FaultEvidence> faults;
  std::vector<ForwarderCpuEvidence> forwarder_cpus;
  std::vector<RxRingEvidence> rx_rings;
  std::vector<LossyClassEvidence> lossy_classes;
  std::vector<std::string> warnings;  // of the lab: what can be run but is probably not meant
  std::vector<SettingEvidence> settings;
  std::vector<RouteGroupEvidence> route_groups;
  std::vector<PoolEvidence> pools;
  std::vector<CollectiveEvidence> collectives;
  std::vector<StragglerEvidence> stragglers;
  std::vector<std::vector<std::string>> circular_waits;
  std::uint64_t left_out = 0;         // senders, events and drops beyond what logs hold
  std::uint64_t pauses_left_out = 0;  // the same of pauses: the first are there
};

}  // namespace weft::lab
