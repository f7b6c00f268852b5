// The parts of explain() (explanation.h), in the order in which they are made. Each reads the evidence and what the
// parts before it found.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "results/explanation.h"
#include "results/pause_tree.h"

namespace weft::lab {

struct ExplainContext {
  const Evidence& evidence;
  const PauseTree& tree;
  std::map<std::string, const LinkEvidence*> link_of;  // by the port that sends
  std::map<std::string, LinkUse> use_of;
  std::map<std::pair<std::string, std::uint32_t>, std::vector<const EventEvidence*>> events_of;  // by port, queue pair
  std::map<std::string, std::size_t> senders_through;                                            // by port
};

std::vector<LinkUse> explain_links(const Evidence& evidence, Time_ps from_ps, Time_ps to_ps);
std::vector<FlowAnswer> explain_flows(const ExplainContext& context);
// Who was behind the bottleneck of a flow: fills in `because` and `root`.
void explain_bottleneck(const ExplainContext& context, FlowAnswer& flow);
// That began at a queue or a NIC: pauses, marks, drops.
std::vector<Incident> queue_incidents(const ExplainContext& context, const std::vector<FlowAnswer>& flows);
// Adds CNPs to these flows and their rate cuts, from then on.
void add_reactions(const ExplainContext& context, const std::vector<const FlowAnswer*>& flows, Time_ps since_ps,
                   Incident& out);
// Adds NAKs and timeouts of these flows.
void add_recoveries(const ExplainContext& context, const std::vector<const FlowAnswer*>& flows, Incident& out);
void order_steps(Incident& out);
// All of them, the worst first.
std::vector<Incident> explain_incidents(const ExplainContext& context, const std::vector<FlowAnswer>& flows);

// "leaf0:swp9 to h8:p0"
std::string link_name(const ExplainContext& context, const std::string& port);
// "97 % busy"; empty: nothing is known of it.
std::string busy_text(const ExplainContext& context, const std::string& port);
// "1.2 MB"
std::string bytes_text(std::uint64_t bytes);
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
// "leaf0:swp9 to h8:p0, 99 % busy, 8 senders pass it"
std::string queue_text(const ExplainContext& context, const std::string& port);

// Its packets wait there, or in the receive buffer there.
inline bool goes_through(const FlowAnswer& flow, const std::string& root) {
  if (flow.to == root) return true;
  for (std::size_t i = 1; i < flow.path.size(); ++i) {
    if (flow.path[i] == root) return true;
  }
  return false;
}

inline bool passes(const FlowAnswer& flow, const std::string& port) {
  for (const std::string& each : flow.path) {
    if (each == port) return true;
  }
  return false;
}

}  // namespace weft::lab
