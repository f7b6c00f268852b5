// The QoS contract of a lab: one description of classification, queues, PFC, ECN, buffers and congestion control for
// hosts and switches alike. A profile gives the starting values, `qos:` of the lab changes them, `qos:` of a node
// changes them for that device. qos_resolve.cc turns it into fabric::SwitchQos and nic::PortQos.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "spec/nic_model.h"
#include "spec/port_qos.h"
#include "spec/switch_config.h"
#include "spec/switch_model.h"
#include "text/problem.h"

namespace weft::lab {

enum class QosProfile : std::uint8_t { kNone, kRoceLossless, kRoceLossy, kSonicDefault };

// Ingress group values that a model uses by default. Nothing: auto.
struct GroupWish {
  std::optional<bool> lossless;  // nothing: when a PFC priority is in it
  std::optional<std::int64_t> headroom_B;
  std::optional<std::int64_t> reserved_B;
  std::optional<std::int64_t> xon_B;
  std::optional<std::int64_t> xon_offset_B;
};

// Where the contract says it, for problems; the place of the section itself for what a profile says.
struct QosPlaces {
  Place section, trust, priority, cnp, dscp_map, pfc, watchdog, buffer, congestion;
  std::array<Place, fabric::kClasses> queues, groups;
};

struct QosContract {
  QosProfile profile = QosProfile::kNone;
  nic::PortQos host;
  fabric::SwitchQos device;              // maps, queues, watchdog; buffers are filled in per switch
  std::uint8_t lossless_priorities = 0;  // mask: what `pfc.priorities` lists
  std::array<GroupWish, fabric::kClasses> groups;
  std::optional<std::int64_t> ingress_pool_B, egress_pool_B, headroom_pool_B;  // nothing: auto
  std::optional<Time_ps> min_time_between_cnps_ps;                             // nothing: as the NIC has it
  std::optional<nic::CnpScope> cnp_scope;                                      // likewise
  QosPlaces places;
};

// The values that a profile begins with; docs/lab-file.md has them with their sources.
QosContract qos_profile(QosProfile profile, const Place& place);

// Contract -> the configuration of one switch of this model. Headroom of ports and pools come later, from its links.
fabric::SwitchQos switch_qos(const QosContract& contract, const fabric::SwitchModel& model);
nic::PortQos host_qos(const QosContract& contract);
// The DSCP that a host sends for this priority: RoCE's own, or the lowest that maps to it.
std::optional<std::uint8_t> dscp_of_priority(const nic::PortQos& qos, std::uint8_t priority);

}  // namespace weft::lab
