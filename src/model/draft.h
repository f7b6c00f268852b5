// A lab in the making: the model so far, where the file says each part of it, and what is wrong with it. The reader
// (labfile/) fills it section by section; templates (topology_builder.h) and checks (qos_check.h) work on it too.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/catalog.h"
#include "model/lab.h"
#include "model/port_pairs.h"
#include "model/qos_contract.h"
#include "text/problem.h"

namespace weft::lab {

// The ends of a link that could not be resolved.
inline constexpr PortRef kNoPort{UINT32_MAX, UINT32_MAX, UINT32_MAX};

struct PortState {
  PortRef ref;
  Place place;
  bool usable = true;               // false: it was reported already, do not build on its values
  std::optional<std::size_t> link;  // index in Lab::links
  Place link_place;
  std::optional<Place> without_address{};  // where none was written, as only the second port of a bond may
  bool second_of_bond = false;             // no workload names it

  bool is_end() const { return link.has_value() && !second_of_bond; }  // of workloads
};

// A host or a switch.
struct NodeState {
  bool is_switch = false;
  bool of_fabric = false;   // a template made it
  std::uint32_t index = 0;  // in Lab::hosts or Lab::switches
  Place place;
  bool complete = true;  // false: a NIC or the model could not be read, so a port that is missing may be in it
  std::map<std::string, PortState, std::less<>> ports;  // of a host
  std::vector<PortState> front_ports;                   // of a switch, in order
};

struct LabDraft {
  LabDraft(const Catalog& devices, ProblemList& list) : catalog(devices), problems(list) {}

  const Catalog& catalog;
  ProblemList& problems;
  Lab lab;
  std::map<std::string, NodeState, std::less<>> nodes;
  QosContract qos;  // of the lab; a node's own keys come on top
  ProblemList warnings;
  std::optional<Place> unprotected;  // where the lab says that its switches neither pause nor mark
  Segments segments;                 // once the links are read
  bool links_complete = true;        // false: a link was reported, so a cable that is missing may be that one

  PortConfig& port(const PortRef& ref) { return lab.hosts[ref.host].nics[ref.nic].ports[ref.port]; }
  NicConfig& nic(const PortRef& ref) { return lab.hosts[ref.host].nics[ref.nic]; }
};

// A cable as written, before it is known what it joins.
struct CableSpec {
  Place place;
  CableKind kind = CableKind::kDac;
  std::int64_t length_mm = 1000;
  std::optional<std::pair<std::int64_t, Place>> rate_bps;
  std::optional<std::pair<Fec, Place>> fec, fec_b;  // b: of the second end, where the two differ
  double bit_error_rate = 0;
  std::optional<Time_ps> latency_ps;
  bool good = true;  // false: it was reported
};
// Rate, FEC and delays of a link whose ends are known; false when they do not fit.
bool settle_link(const CableSpec& cable, LinkConfig& link, LabDraft& draft);

// Gives the switch at `state.index` its model and all ports of it; false when it has none.
bool add_switch(std::string_view name, const fabric::SwitchModel& model, NodeState& state, LabDraft& draft);
std::int64_t usual_mtu_B(const fabric::SwitchModel& model);  // of its ports, when the lab gives none
// Which rates a port can run at, highest first.
std::vector<std::int64_t> port_rates_bps(const PortRef& port, const LabDraft& draft);
// Host ports with the same number reach each other: over one cable, or over switches. Only for a port with a link.
std::uint32_t segment_of(const PortState& port, const LabDraft& draft);

}  // namespace weft::lab
