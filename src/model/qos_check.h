// Is the QoS contract sound? Problems are what no device could do, warnings what is probably not meant. One message for
// each cause, however many switches share it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/draft.h"

namespace weft::lab {

// What a switch's ports keep for themselves of its packet memory.
struct BufferUse {
  std::int64_t headroom_B = 0;  // of all groups of all ports with a cable, or the pool that they share
  std::int64_t reserved_B = 0;
};
BufferUse buffer_use(const SwitchConfig& device, const std::vector<bool>& cabled);

// Contracts of nodes that change the lab's, by node.
using OwnContracts = std::map<std::string, QosContract, std::less<>>;
// What the contracts make of every device: maps, groups, headroom and pools, all checked. Links are known.
void resolve_qos(LabDraft& draft, const OwnContracts& own);

class QosChecker {
 public:
  explicit QosChecker(LabDraft& draft) : draft_(draft), problems_(draft.problems) {}

  // Maps, PFC, ECN and CNPs; `node` is empty for the lab's own contract.
  void check(const QosContract& contract, const std::string& node);
  // Pools, headroom and reserves of one switch against its memory.
  void check_buffer(const SwitchConfig& device, const QosContract& contract, const BufferUse& use);
  // Congestion control of hosts that asks of switches what some cannot do.
  // A forwarder neither sends nor obeys pauses.
  void check_forwarder(const QosContract& common, const SwitchConfig& device);
  void check_telemetry(const QosContract& contract);
  // What depends on links: headroom against cables, MTUs, subnets, watchdogs.
  void check_fabric(const std::vector<const QosContract*>& contract_of_switch);

 private:
  void check_trust(const QosContract& contract);
  void check_lossless(const QosContract& contract, const fabric::SwitchQos& qos, const std::string& of);
  void check_cnp(const QosContract& contract, const fabric::SwitchQos& qos);
  void check_watchdog(const QosContract& contract);
  void check_headroom(const LinkConfig& link, const PortRef& port, const QosContract& contract);
  void check_mtu(const LinkConfig& link, const PortRef& port);
  void check_subnets();
  void warn(const Place& place, std::string message, std::string remedy);

  LabDraft& draft_;
  ProblemList& problems_;
  std::set<std::string> said_;             // warnings
  std::set<const QosContract*> overfull_;  // contracts that were reported as too much for a buffer
};

// Warns of RoCE without pauses and marks. Once the workloads are known: kernel TCP does not need them.
void check_unprotected(LabDraft& draft);

}  // namespace weft::lab
