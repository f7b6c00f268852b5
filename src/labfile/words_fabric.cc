// The words of fabric, switches and qos.
#include <algorithm>

#include "labfile/words.h"

namespace weft::lab {
namespace {

using fabric::Balancing;
using nic::DcqcnParameters;
using nic::HpccParameters;
using nic::SwiftParameters;
using nic::TimelyParameters;

constexpr std::string_view kSwitchKeys[] = {"kind", "model", "set", "qos", "routing", "ports", "routes"};
constexpr std::string_view kSwitchPortKeys[] = {"mtu"};
constexpr std::string_view kForwarderKeys[] = {"kind", "model", "set", "qdisc", "routing", "ports", "routes"};
constexpr std::string_view kForwarderPortKeys[] = {"mtu", "rx_ring", "qdisc"};
constexpr std::string_view kQdiscKeys[] = {"kind",  "limit",     "min",         "max", "avpkt",
                                           "burst", "bandwidth", "probability", "ecn"};
constexpr std::string_view kRoutingKeys[] = {"balancing", "hash", "hash_seed", "flowlet_gap", "convergence", "offload"};
constexpr std::string_view kMirrorKeys[] = {"port", "direction", "as", "session", "to"};
constexpr std::string_view kRouteKeys[] = {"to", "via"};
constexpr std::string_view kFabricKeys[] = {"template", "hosts", "leaves", "spines",       "switch",          "leaf",
                                            "spine",    "host",  "cable",  "uplink_cable", "uplinks",         "rate",
                                            "rails",    "k",     "groups", "switches",     "hosts_per_switch"};
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

constexpr ParameterKey<DcqcnParameters> kDcqcnKeys[] = {
    {"CLAMP_TGT_RATE", &DcqcnParameters::clamp_tgt_rate, 1},
    {"CLAMP_TGT_RATE_AFTER_TIME_INC", &DcqcnParameters::clamp_tgt_rate_after_time_inc, 1},
    {"RPG_TIME_RESET", &DcqcnParameters::rpg_time_reset_us, 131071},
    {"RPG_BYTE_RESET", &DcqcnParameters::rpg_byte_reset_64B, 32767},
    {"RPG_THRESHOLD", &DcqcnParameters::rpg_threshold, 31},
    {"RPG_MAX_RATE", &DcqcnParameters::rpg_max_rate_Mbps},
    {"RPG_AI_RATE", &DcqcnParameters::rpg_ai_rate_Mbps},
    {"RPG_HAI_RATE", &DcqcnParameters::rpg_hai_rate_Mbps},
    {"RPG_GD", &DcqcnParameters::rpg_gd, 15},
    {"RPG_MIN_DEC_FAC", &DcqcnParameters::rpg_min_dec_fac_percent, 100},
    {"RPG_MIN_RATE", &DcqcnParameters::rpg_min_rate_Mbps},
    {"RATE_TO_SET_ON_FIRST_CNP", &DcqcnParameters::rate_to_set_on_first_cnp_Mbps},
    {"DCE_TCP_G", &DcqcnParameters::dce_tcp_g, 1023},
    {"DCE_TCP_RTT", &DcqcnParameters::dce_tcp_rtt_us, 131071},
    {"RATE_REDUCE_MONITOR_PERIOD", &DcqcnParameters::rate_reduce_monitor_period_us, UINT32_MAX},
    {"INITIAL_ALPHA_VALUE", &DcqcnParameters::initial_alpha_value, 1023}};
// What an algorithm divides by is not 0.
constexpr ParameterKey<HpccParameters> kHpccKeys[] = {{"eta_permille", &HpccParameters::eta_permille, UINT32_MAX, 1},
                                                      {"max_stage", &HpccParameters::max_stage},
                                                      {"ai_rate_Mbps", &HpccParameters::ai_rate_Mbps},
                                                      {"base_rtt_ns", &HpccParameters::base_rtt_ns, UINT32_MAX, 1}};
constexpr ParameterKey<TimelyParameters> kTimelyKeys[] = {{"t_low_ns", &TimelyParameters::t_low_ns},
                                                          {"t_high_ns", &TimelyParameters::t_high_ns},
                                                          {"min_rtt_ns", &TimelyParameters::min_rtt_ns, UINT32_MAX, 1},
                                                          {"ewma_permille", &TimelyParameters::ewma_permille},
                                                          {"beta_permille", &TimelyParameters::beta_permille},
                                                          {"ai_rate_Mbps", &TimelyParameters::ai_rate_Mbps},
                                                          {"hai_count", &TimelyParameters::hai_count},
                                                          {"min_rate_Mbps", &TimelyParameters::min_rate_Mbps}};
constexpr ParameterKey<SwiftParameters> kSwiftKeys[] = {{"base_target_ns", &SwiftParameters::base_target_ns},
                                                        {"hop_scale_ns", &SwiftParameters::hop_scale_ns},
                                                        {"flow_scale_range_ns", &SwiftParameters::flow_scale_range_ns},
                                                        {"ai_permille", &SwiftParameters::ai_permille},
                                                        {"beta_permille", &SwiftParameters::beta_permille},
                                                        {"max_mdf_permille", &SwiftParameters::max_mdf_permille}};

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
    add(kDcqcnKeys);
    add(kHpccKeys);
    add(kTimelyKeys);
    add(kSwiftKeys);
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
std::span<const ParameterKey<DcqcnParameters>> dcqcn_keys() {
  return kDcqcnKeys;
}
std::span<const ParameterKey<HpccParameters>> hpcc_keys() {
  return kHpccKeys;
}
std::span<const ParameterKey<TimelyParameters>> timely_keys() {
  return kTimelyKeys;
}
std::span<const ParameterKey<SwiftParameters>> swift_keys() {
  return kSwiftKeys;
}

}  // namespace weft::lab
