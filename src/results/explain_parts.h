// The parts of explain() (explanation.h), in the order in which they are made. Each reads the evidence and what the
// parts before it found.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "results/explanation.h"
#include "results/kinds/flow_index.h"
#include "results/pause_tree.h"

namespace weft::lab {

// Ports of which each was stopped by the next, the last by the first.
struct StopCircle {
  std::vector<std::string> ports;
  Time_ps from_ps = 0, to_ps = 0;
  bool lasted = false;  // to the end of the run
  Time_ps watchdog_ps = kNever_ps;
};
std::vector<StopCircle> stop_circles(const Evidence& evidence, const PauseTree& tree);
bool is_in(const StopCircle& circle, const std::string& port);

struct ExplainContext {
  const Evidence& evidence;
  const PauseTree& tree;
  std::map<std::string, const LinkEvidence*> link_of;  // by the port that sends
  std::map<std::string, LinkUse> use_of;
  std::map<std::pair<std::string, std::uint32_t>, std::vector<const EventEvidence*>> events_of;  // by port, queue pair
  struct Users {
    std::size_t queue_pairs = 0;
    std::set<std::string> ports;
  };
  std::map<std::string, Users> users_of;  // by port: whose data pass it at some time
  Time_ps from_ps = 0, to_ps = 0;         // the time that it is about
  std::vector<StopCircle> circles;
};

std::vector<LinkUse> explain_links(const Evidence& evidence, Time_ps from_ps, Time_ps to_ps);
std::vector<FlowAnswer> explain_flows(const ExplainContext& context);
// Who was behind the bottleneck of a flow: fills in `because` and `root`. Round trips that a queue of the path explains
// become queueing.
void explain_bottleneck(const ExplainContext& context, FlowAnswer& flow);
// That began at a queue or a NIC: pauses, marks, drops.
std::vector<Incident> queue_incidents(const ExplainContext& context, const FlowIndex& flows);
// Adds CNPs to these flows and their rate cuts, from then on and as long as they pass `root`; empty: wherever they go.
void add_reactions(const ExplainContext& context, const std::vector<const FlowAnswer*>& flows, Time_ps since_ps,
                   const std::string& root, Incident& out);
// Adds NAKs and timeouts of these flows, from then on.
void add_recoveries(const ExplainContext& context, const std::vector<const FlowAnswer*>& flows, Time_ps since_ps,
                    Incident& out);
void order_steps(Incident& out);
// Ports that stopped each other in a circle: to the end, or until something broke it.
std::vector<Incident> circle_incidents(const ExplainContext& context, const std::vector<FlowAnswer>& flows);
// With the moment and the place of what is behind each, where an incident says so.
std::vector<Straggler> explain_stragglers(const ExplainContext& context, const std::vector<Incident>& incidents);
// Why more was to leave by a port than it could carry.
struct CapacityCause {
  std::string title;  // "ECMP collision: 1 of 3 other equal ports idle"
  std::string step;   // with all figures
};
std::optional<CapacityCause> capacity_cause(const ExplainContext& context, const std::string& root,
                                            const std::vector<const FlowAnswer*>& through, bool paused, bool dropped);
// Settings of devices that incidents concern come first, of these the ones whose effect is known.
void order_settings(Explanation& explanation);
// All of them, the worst first.
std::vector<Incident> explain_incidents(const ExplainContext& context, const std::vector<FlowAnswer>& flows);

// "leaf0:swp9 to h8:p0"
std::string link_name(const ExplainContext& context, const std::string& port);
// "97 % busy"; empty: nothing is known of it.
std::string busy_text(const ExplainContext& context, const std::string& port);
// "3 fault drops", "12 port down"
std::string lost_text(std::uint64_t count, const std::string& reason);
// "at least " where the log had no room for all.
inline std::string at_least(std::uint64_t left_out) {
  return left_out > 0 ? "at least " : "";
}
// "A, B and 3 more"
std::string list_text(const std::vector<std::string>& names, std::size_t most = 3);
// What made this NIC stop its peer.
std::string receiver_text(const ExplainContext& context, const std::string& port, const std::string& nic_cause);

// Of its own queue pairs, in no order.
std::vector<const EventEvidence*> events_of(const ExplainContext& context, const FlowAnswer& flow);
// "leaf0:swp9 to h8:p0, 99 % busy, 8 ports send through it"
std::string queue_text(const ExplainContext& context, const std::string& port);

// At some time.
bool passes(const FlowAnswer& flow, const std::string& port);
// At that time; also where its path depends on the moment.
bool passes_at(const FlowAnswer& flow, const std::string& port, Time_ps at_ps);
// Its packets wait there, or in the receive buffer there.
bool goes_through(const FlowAnswer& flow, const std::string& root);

// What made the packets of these ends be lost in switches, on cables and at receivers; `root` is where the first were.
std::string losses_text(const ExplainContext& context, const FlowAnswer& flow, std::string& root);
// "CPU 0 of br0 forwards them and was 99 % busy; ..." in the time of a flow that leaves the forwarder by `port`; empty:
// none, or it had time left.
std::string forwarder_text(const ExplainContext& context, const FlowAnswer& flow, const std::string& port);
// The same of all its time; `ring` is the port whose frames wait there.
std::string ring_text(const ExplainContext& context, const std::string& ring);
// That this queue is lossy there and lossless to the hosts; empty: it is not so.
std::string class_text(const ExplainContext& context, const std::string& port);
std::string node_name(const std::string& port);
// By sockets, which have no queue pairs: one answer for each workload.
void add_socket_flows(const ExplainContext& context, std::vector<FlowAnswer>& flows);
// Staged in host memory: names that, where it took more than what the flow is held back by otherwise.
void explain_staging(const ExplainContext& context, FlowAnswer& flow);

}  // namespace weft::lab
