// What one switch was told to do: classification, buffers, scheduling, ECN, PFC, watchdog, routing. The lab's
// QoS contract and routing section are resolved to this, one per switch; the switch reads nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "spec/port_flow_control.h"

namespace weft::fabric {

inline constexpr std::size_t kClasses = 8;

enum class Trust : std::uint8_t { kDscp, kPcp };
enum class Scheduling : std::uint8_t { kStrict, kDwrr };
enum class WatchdogAction : std::uint8_t { kDrop, kForward, kAlert };

// RED on the length of an egress queue: nothing below min, linear to `probability_ppb` at max, everything above.
struct EcnRamp {
  bool enabled = false;
  std::int64_t min_B = 0;
  std::int64_t max_B = 0;
  std::uint32_t probability_ppb = 0;
  std::uint8_t weight_exponent = 0;  // average moves by 2^-n of the difference for each packet; 0: instantaneous
  bool drops_not_ect = true;         // a packet that cannot be marked is dropped instead, on its way in (WRED)
  bool at_enqueue = false;           // marks on the way in, by what waits then; else on the way out
  // A ramp of its own for packets of these DSCPs, which are yellow; 0: all are green.
  std::uint64_t yellow_dscps = 0;
  std::int64_t yellow_min_B = 0;
  std::int64_t yellow_max_B = 0;
  std::uint32_t yellow_probability_ppb = 1'000'000'000;
};

// Egress queue q of every port.
struct QueueConfig {
  Scheduling scheduling = Scheduling::kDwrr;
  std::uint32_t weight = 1;  // DWRR
  EcnRamp ecn;
  std::int64_t reserved_B = 0;
  std::int8_t alpha_exponent = 3;  // shared limit: 2^n times what is free
  bool lossless = false;           // no limit of its own: the ingress side holds it back
};

// Ingress priority group g of every port.
struct GroupConfig {
  bool lossless = false;
  std::int64_t reserved_B = 0;
  std::int8_t alpha_exponent = 0;
  // XON when the group holds at most max(xon_B, limit - xon_offset_B).
  std::int64_t xon_B = 0;
  std::int64_t xon_offset_B = 0;
};

struct WatchdogConfig {
  bool enabled = false;
  Time_ps detection_ps = 200 * kMillisecond_ps;
  Time_ps restoration_ps = 200 * kMillisecond_ps;
  Time_ps poll_ps = 200 * kMillisecond_ps;
  WatchdogAction action = WatchdogAction::kDrop;
};

// The chain DSCP -> priority (traffic class) -> queue and priority group -> PFC.
struct SwitchQos {
  Trust trust = Trust::kDscp;
  std::array<std::uint8_t, 64> priority_of_dscp{};
  std::array<std::uint8_t, kClasses> queue_of_priority{0, 1, 2, 3, 4, 5, 6, 7};
  std::array<std::uint8_t, kClasses> group_of_priority{0, 1, 2, 3, 4, 5, 6, 7};
  std::array<std::uint8_t, kClasses> pause_of_group{0, 1, 2, 3, 4, 5, 6, 7};  // class in the PFC frame that it sends
  std::array<std::uint8_t, kClasses> queue_of_pause{0, 1, 2, 3, 4, 5, 6, 7};  // what a received class stops
  std::array<QueueConfig, kClasses> queues;
  std::array<GroupConfig, kClasses> groups;
  FlowControl flow_control = FlowControl::kNone;
  std::uint8_t pfc_receive_mask = 0;  // priorities whose pauses are honoured
  std::uint16_t pause_quanta = 0xffff;
  std::int64_t ingress_pool_B = 0;   // shared by all groups, lossless and lossy
  std::int64_t egress_pool_B = 0;    // shared by lossy queues
  std::int64_t headroom_pool_B = 0;  // 0: every group has its own headroom
  WatchdogConfig watchdog;
};

enum class Balancing : std::uint8_t { kEcmp, kFlowlet, kAdaptive, kSpray };

struct RoutingConfig {
  Balancing balancing = Balancing::kEcmp;
  bool hash_dest_qp = false;   // 5-tuple, or with the BTH destination QP (a user-defined field)
  bool lag_hash_ports = true;  // of a LAG: layer3+4, or, false, layer2+3
  std::uint32_t hash_seed = 0;
  bool cpu_forwarding = false;  // routed packets pass the management CPU: routing is not offloaded to the ASIC
  Time_ps flowlet_gap_ps = 50 * kMicrosecond_ps;
  Time_ps convergence_ps = 50 * kMillisecond_ps;  // link down -> routes without it
};

// A route for one destination port that wins over what was computed.
struct StaticRoute {
  std::uint32_t destination = 0;  // port id of a host port
  std::vector<std::uint32_t> out_ports;
};

struct SwitchPortConfig {
  std::uint32_t port_id = 0;  // in the world
  std::int64_t rate_bps = 0;
  std::int64_t mtu_B = 0;                           // largest IP packet that leaves here
  std::array<std::int64_t, kClasses> headroom_B{};  // by priority group: what may arrive after XOFF
};

}  // namespace weft::fabric
