// The words of fabric, switches and qos.
#include <algorithm>

#include "labfile/words.h"

namespace weft::lab {
namespace {

using fabric::Balancing;

constexpr std::string_view kSwitchKeys[] = {"kind", "model", "set", "qos", "routing", "ports", "routes"};
constexpr std::string_view kSwitchPortKeys[] = {"mtu"};
constexpr std::string_view kForwarderKeys[] = {"kind", "model", "set", "qdisc", "routing", "ports", "routes"};
constexpr std::string_view kForwarderPortKeys[] = {"mtu", "rx_ring", "qdisc"};
constexpr std::string_view kQdiscKeys[] = {"kind",  "limit",     "min",         "max", "avpkt",
                                           "burst", "bandwidth", "probability", "ecn"};
constexpr std::string_view kRoutingKeys[] = {"balancing",   "hash",    "hash_seed", "flowlet_gap",
                                             "convergence", "offload", "lag_hash"};
constexpr std::string_view kMirrorKeys[] = {"port", "direction", "as", "session", "to"};
constexpr std::string_view kRouteKeys[] = {"to", "via"};
constexpr std::string_view kFabricKeys[] = {
    "template", "hosts", "leaves", "spines",       "switch",           "leaf",
    "spine",    "host",  "cable",  "uplink_cable", "uplinks",          "rate",
    "rails",    "k",     "groups", "switches",     "hosts_per_switch", "uplink_lag"};
constexpr std::string_view kFabricHostKeys[] = {"nic", "host", "mtu", "gpus"};
constexpr std::string_view kQosKeys[] = {"profile",
                                         "dscp",
                                         "priority",
                                         "ecn",
                                         "cnp_dscp",
                                         "cnp_priority",
                                         "trust",
                                         "dscp_to_priority",
                                         "priority_to_queue",
                                         "priority_to_group",
                                         "pfc",
                                         "queues",
                                         "groups",
                                         "buffer",
                                         "congestion"};
constexpr std::string_view kPfcKeys[] = {"mode", "priorities", "quanta", "watchdog"};
constexpr std::string_view kWatchdogKeys[] = {"detection", "restoration", "poll", "action"};
constexpr std::string_view kQueueKeys[] = {"scheduling", "weight", "alpha", "reserved", "ecn"};
constexpr std::string_view kEcnKeys[] = {"min", "max", "probability", "average", "mark", "not_ect"};
constexpr std::string_view kGroupKeys[] = {"lossless", "alpha", "reserved", "xon", "xon_offset", "headroom"};
constexpr std::string_view kBufferKeys[] = {"ingress_pool", "egress_pool", "headroom_pool"};

constexpr Word<FabricTemplate> kTemplateWords[] = {{"direct", FabricTemplate::kDirect},
                                                   {"ring", FabricTemplate::kRing},
                                                   {"single-switch", FabricTemplate::kSingleSwitch},
                                                   {"leaf-spine", FabricTemplate::kLeafSpine},
                                                   {"rail-optimised", FabricTemplate::kRailOptimised},
                                                   {"fat-tree", FabricTemplate::kFatTree},
                                                   {"dragonfly", FabricTemplate::kDragonfly}};
constexpr Word<Balancing> kBalancingWords[] = {{"ecmp", Balancing::kEcmp},
                                               {"flowlet", Balancing::kFlowlet},
                                               {"adaptive", Balancing::kAdaptive},
                                               {"spray", Balancing::kSpray}};
constexpr Word<bool> kHashWords[] = {{"5-tuple", false}, {"5-tuple-qp", true}};
constexpr Word<bool> kLagHashWords[] = {{"layer3+4", true}, {"layer2+3", false}};

}  // namespace

std::span<const std::string_view> switch_keys() {
  return kSwitchKeys;
}
std::span<const std::string_view> switch_port_keys() {
  return kSwitchPortKeys;
}
std::span<const std::string_view> forwarder_keys() {
  return kForwarderKeys;
}
std::span<const std::string_view> forwarder_port_keys() {
  return kForwarderPortKeys;
}
std::span<const std::string_view> qdisc_keys() {
  return kQdiscKeys;
}
std::span<const Word<fabric::QdiscKind>> qdisc_words() {
  static constexpr Word<fabric::QdiscKind> kWords[] = {{"pfifo", fabric::QdiscKind::kPfifo},
                                                       {"red", fabric::QdiscKind::kRed}};
  return kWords;
}
std::span<const std::string_view> mirror_keys() {
  return kMirrorKeys;
}
std::span<const Word<MirrorKind>> mirror_words() {
  static constexpr Word<MirrorKind> kWords[] = {
      {"span", MirrorKind::kSpan}, {"erspan2", MirrorKind::kErspan2}, {"erspan3", MirrorKind::kErspan3}};
  return kWords;
}
std::span<const Word<MirrorDirection>> mirror_direction_words() {
  static constexpr Word<MirrorDirection> kWords[] = {
      {"both", MirrorDirection::kBoth}, {"ingress", MirrorDirection::kIngress}, {"egress", MirrorDirection::kEgress}};
  return kWords;
}
std::span<const std::string_view> routing_keys() {
  return kRoutingKeys;
}
std::span<const std::string_view> route_keys() {
  return kRouteKeys;
}
std::span<const std::string_view> fabric_keys() {
  return kFabricKeys;
}
std::span<const std::string_view> fabric_host_keys() {
  return kFabricHostKeys;
}
std::span<const std::string_view> qos_keys() {
  return kQosKeys;
}
std::span<const std::string_view> pfc_keys() {
  return kPfcKeys;
}
std::span<const std::string_view> watchdog_keys() {
  return kWatchdogKeys;
}
std::span<const std::string_view> queue_keys() {
  return kQueueKeys;
}
std::span<const std::string_view> ecn_keys() {
  return kEcnKeys;
}
std::span<const std::string_view> group_keys() {
  return kGroupKeys;
}
std::span<const std::string_view> buffer_keys() {
  return kBufferKeys;
}

std::span<const std::string_view> congestion_keys() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> names = {"algorithm", "parameters", "MIN_TIME_BETWEEN_CNPS", "ROCE_CC_PRIO_MASK"};
    const auto add = [&](const auto& keys) {
      for (const auto& key : keys) {
        if (std::find(names.begin(), names.end(), key.name) == names.end()) names.push_back(key.name);
      }
    };
    add(dcqcn_keys());
    add(hpcc_keys());
    add(timely_keys());
    add(swift_keys());
    return names;
  }();
  return all;
}

std::span<const Word<FabricTemplate>> template_words() {
  return kTemplateWords;
}
std::span<const Word<Balancing>> balancing_words() {
  return kBalancingWords;
}
std::span<const Word<bool>> hash_words() {
  return kHashWords;
}
std::span<const Word<bool>> lag_hash_words() {
  return kLagHashWords;
}
}  // namespace weft::lab
