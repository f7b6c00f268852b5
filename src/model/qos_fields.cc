#include "model/qos_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/qos_words.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

using fabric::EcnRamp;
using fabric::GroupConfig;
using fabric::QueueConfig;
using fabric::SwitchQos;
using fabric::WatchdogConfig;
using nic::CongestionParameters;
using nic::DcqcnParameters;
using nic::HpccParameters;
using nic::PortQos;
using nic::SwiftParameters;
using nic::TimelyParameters;
using Contract = QosContract;

constexpr fields::Bounds kClassNumbers{0, fabric::kClasses - 1}, kDscps{0, 63};
constexpr fields::Sizes kBufferSizes{0, std::int64_t{1} << 40};
constexpr fields::Sizes kTimes{kMicrosecond_ps, 3600 * kSecond_ps};
constexpr std::string_view kOfProfile = "of the profile";
constexpr std::string_view kClassMap = R"("type": "object", "propertyNames": {"pattern": "^[0-7]$"}, )"
                                       R"("additionalProperties": {"type": "integer", "minimum": 0, "maximum": 7})";
constexpr std::string_view kDscpMap =
    R"("type": "object", "propertyNames": {"pattern": "^[0-9]{1,2}(-[0-9]{1,2})?$"}, )"
    R"("additionalProperties": {"type": "integer", "minimum": 0, "maximum": 7})";
constexpr std::string_view kClassList = R"("type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 7})";

constexpr std::string_view kDscpList = R"("type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 63})";

// alpha: n of 2^n.
std::optional<std::int64_t> read_exponent(const YamlNode& node, std::string_view what, ProblemList& problems) {
  constexpr std::uint64_t kLargest = 8;
  const bool negative = node.is_scalar() && node.text.starts_with('-');
  const auto value = parse_unsigned(std::string_view(node.text).substr(negative ? 1 : 0));
  if (!value || *value > kLargest) {
    problems.add(node.place, fmt::format("{} {} is not an exponent", what, in_quotes(node.text)),
                 "write n of 2^n, from -8 to 8: 0 allows as much as is free, 3 eight times that");
    return std::nullopt;
  }
  const auto size = static_cast<std::int64_t>(*value);
  return negative ? -size : size;
}

// A list of classes -> a mask.
std::optional<std::int64_t> read_classes(const YamlNode& node, std::string_view what, ProblemList& problems) {
  const auto* list = read_list(node, what, problems);
  if (list == nullptr) return std::nullopt;
  std::int64_t mask = 0;
  for (const YamlNode& item : *list) {
    if (const auto priority = read_unsigned(item, "priority", {0, fabric::kClasses - 1}, problems))
      mask |= std::int64_t{1} << *priority;
  }
  return mask;
}

// A list of DSCPs <-> a mask.
std::optional<std::int64_t> read_dscps(const YamlNode& node, std::string_view what, ProblemList& problems) {
  const auto* list = read_list(node, what, problems);
  if (list == nullptr) return std::nullopt;
  std::uint64_t mask = 0;
  for (const YamlNode& item : *list) {
    if (const auto dscp = read_unsigned(item, "DSCP", {0, 63}, problems)) mask |= std::uint64_t{1} << *dscp;
  }
  return static_cast<std::int64_t>(mask);
}
std::string dscps_text(std::int64_t mask) {
  std::vector<int> dscps;
  for (int dscp = 0; dscp < 64; ++dscp) {
    if ((static_cast<std::uint64_t>(mask) >> dscp & 1) != 0) dscps.push_back(dscp);
  }
  return fmt::format("[{}]", fmt::join(dscps, ", "));
}

template <auto... Path>
constexpr auto alpha_at() {
  return parsed_at<Path...>(read_exponent, nullptr, R"("type": "number", "minimum": -8, "maximum": 8)", "-8 to 8");
}
template <auto... Path>
constexpr auto auto_size_at() {
  return quantity_at<Path...>(Quantity::kSize, kBufferSizes).or_word("auto");
}

constexpr Field<EcnRamp> kEcnFields[] = {
    {"min",
     quantity_at<&EcnRamp::min_B>(Quantity::kSize, kBufferSizes),
     "required",
     "nothing is marked below",
     {.title = "Kmin", .live = Live::kQueue, .sonic = "min_threshold", .nvue = "min-threshold-bytes"}},
    {"max",
     quantity_at<&EcnRamp::max_B>(Quantity::kSize, kBufferSizes),
     "required",
     "everything is marked above",
     {.title = "Kmax", .live = Live::kQueue, .sonic = "max_threshold", .nvue = "max-threshold-bytes"}},
    {"probability",
     quantity_at<&EcnRamp::probability_ppb>(Quantity::kProbability, {1, 1'000'000'000}),
     "100 %",
     "the share that is marked at `max`; below it falls in a line to 0 at `min`",
     {.title = "Pmax", .live = Live::kQueue, .sonic = "drop_probability", .nvue = "probability"}},
    {"average",
     number_at<&EcnRamp::weight_exponent>({0, 15}),
     "0",
     "n: the average moves by 2^-n of the difference; 0 is the queue as it is",
     {.live = Live::kQueue}},
    {"mark",
     choice_at<mark_words, &EcnRamp::at_enqueue>(),
     "`dequeue`",
     "when a packet is judged: by what waits as it leaves (quicker by the time in the queue), or by what waits as it "
     "comes",
     {.live = Live::kQueue}},
    {"not_ect",
     choice_at<not_ect_words, &EcnRamp::drops_not_ect>(),
     "`drop`",
     "what becomes of a packet that would be marked but is not ECT: WRED drops it",
     {.live = Live::kQueue}},
    {"yellow_dscp",
     parsed_at<&EcnRamp::yellow_dscps>(read_dscps, dscps_text, kDscpList, "list of DSCPs"),
     "none",
     "packets of these are yellow, and have the ramp of the three keys below in place of the three above",
     {.live = Live::kQueue}},
    {"yellow_min",
     quantity_at<&EcnRamp::yellow_min_B>(Quantity::kSize, kBufferSizes),
     "0 B",
     "nothing yellow is marked below",
     {.live = Live::kQueue, .sonic = "yellow_min_threshold"}},
    {"yellow_max",
     quantity_at<&EcnRamp::yellow_max_B>(Quantity::kSize, kBufferSizes),
     "0 B",
     "everything yellow is marked above, and from `yellow_min` on where that is larger",
     {.live = Live::kQueue, .sonic = "yellow_max_threshold"}},
    {"yellow_probability",
     quantity_at<&EcnRamp::yellow_probability_ppb>(Quantity::kProbability, {1, 1'000'000'000}),
     "100 %",
     "the share of yellow packets that is marked at `yellow_max`",
     {.live = Live::kQueue, .sonic = "yellow_drop_probability"}},
};

constexpr Field<QueueConfig> kQueueFields[] = {
    {"ecn",
     section_at<&QueueConfig::ecn>(kEcnKeys).or_off<&QueueConfig::ecn, &EcnRamp::enabled>(),
     kOfProfile,
     "where packets are marked",
     {.live = Live::kQueue}},
    {"scheduling", choice_at<scheduling_words, &QueueConfig::scheduling>(), kOfProfile,
     "by weight among its like, or before all that is not"},
    {"weight", number_at<&QueueConfig::weight>({1, 100}), kOfProfile, "share of a queue with `dwrr`"},
    {"alpha",
     alpha_at<&QueueConfig::alpha_exponent>(),
     kOfProfile,
     "exponent n of the dynamic limit: the queue may hold 2^n times what is free",
     {.live = Live::kQueue}},
    {"reserved", quantity_at<&QueueConfig::reserved_B>(Quantity::kSize, kBufferSizes), kOfProfile,
     "buffer that the queue has for itself"},
};

constexpr Field<GroupConfig> kGroupFields[] = {
    {"alpha",
     alpha_at<&GroupConfig::alpha_exponent>(),
     kOfProfile,
     "exponent n from -8 to 8: before XOFF the group may hold alpha = 2^n times what is free; 0 is alpha 1, as "
     "`weft qos` prints it",
     {.title = "Alpha", .live = Live::kQueue, .sonic = "dynamic_th"}},
};
constexpr Field<GroupWish> kGroupWishFields[] = {
    {"lossless", flag_at<&GroupWish::lossless>(), "when a PFC priority is in it", "it sends XOFF, and has headroom"},
    {"reserved", auto_size_at<&GroupWish::reserved_B>(), "`auto`", "buffer that the group has for itself"},
    {"xon", auto_size_at<&GroupWish::xon_B>(), "`auto`", "XON when it holds at most this", {.sonic = "xon"}},
    {"xon_offset",
     auto_size_at<&GroupWish::xon_offset_B>(),
     "`auto`",
     "or when it is this much below its limit",
     {.sonic = "xon_offset"}},
    {"headroom",
     auto_size_at<&GroupWish::headroom_B>(),
     "`auto`",
     "for what arrives after XOFF; `auto`: by rate and cable",
     {.title = "Headroom", .sonic = "xoff"}},
};

constexpr Field<Contract> kBufferFields[] = {
    {"ingress_pool", auto_size_at<&Contract::ingress_pool_B>(), "`auto`", "shared by all groups"},
    {"egress_pool", auto_size_at<&Contract::egress_pool_B>(), "`auto`", "shared by the lossy queues"},
    {"headroom_pool", auto_size_at<&Contract::headroom_pool_B>(), "`auto`",
     "shared by the headroom of all groups; 0 B: each port has its own"},
};

constexpr Field<WatchdogConfig> kWatchdogFields[] = {
    {"detection",
     quantity_at<&WatchdogConfig::detection_ps>(Quantity::kTime, kTimes),
     "200 ms",
     "a queue that is paused for so long is in a storm",
     {.sonic = "detection_time"}},
    {"restoration",
     quantity_at<&WatchdogConfig::restoration_ps>(Quantity::kTime, kTimes),
     "200 ms",
     "without pauses for so long the storm is over",
     {.sonic = "restoration_time"}},
    {"poll",
     quantity_at<&WatchdogConfig::poll_ps>(Quantity::kTime, kTimes),
     "200 ms",
     "how often it looks",
     {.sonic = "POLL_INTERVAL"}},
    {"action",
     choice_at<watchdog_words, &WatchdogConfig::action>(),
     "`drop`",
     "what becomes of the packets of the queue during a storm",
     {.sonic = "action"}},
};

constexpr Field<Contract> kPfcFields[] = {
    {"mode",
     choice_at<flow_control_words, &Contract::device, &SwitchQos::flow_control>(),
     kOfProfile,
     "PFC by priority, 802.3x pause of the whole link, or none: then packets are lost",
     {.title = "Flow control", .live = Live::kPauseMode}},
    {"priorities",
     parsed_at<&Contract::lossless_priorities>(read_classes, class_list_text, kClassList, "list of classes"),
     kOfProfile,
     "the lossless ones: `[3]`",
     {.live = Live::kPfc, .sonic = "pfc_enable"}},
    {"quanta", number_at<&Contract::device, &SwitchQos::pause_quanta>({1, 0xffff}), "65535",
     "of a pause frame, in times of 512 bits"},
    {"watchdog",
     section_at<&Contract::device, &SwitchQos::watchdog>(kWatchdogKeys)
         .or_off<&Contract::device, &SwitchQos::watchdog, &WatchdogConfig::enabled>(),
     kOfProfile, "ends a pause storm"},
};

template <auto Member>
constexpr auto dcqcn_at(std::uint64_t max = UINT32_MAX) {
  return number_at<&Contract::host, &PortQos::congestion, &CongestionParameters::dcqcn, Member>({0, max});
}
template <auto Member>
constexpr auto hpcc_at(std::int64_t min = 0) {  // what an algorithm divides by is not 0
  return number_at<&Contract::host, &PortQos::congestion, &CongestionParameters::hpcc, Member>({min, UINT32_MAX});
}
template <auto Member>
constexpr auto timely_at(std::int64_t min = 0) {
  return number_at<&Contract::host, &PortQos::congestion, &CongestionParameters::timely, Member>({min, UINT32_MAX});
}
template <auto Member>
constexpr auto swift_at() {
  return number_at<&Contract::host, &PortQos::congestion, &CongestionParameters::swift, Member>({0, UINT32_MAX});
}
constexpr FieldNotes kLive{.live = Live::kCongestion};
constexpr FieldNotes knob_notes(std::string_view title) {
  return {.title = title, .live = Live::kCongestion};
}

constexpr Field<Contract> kDcqcnFields[] = {
    {"CLAMP_TGT_RATE", dcqcn_at<&DcqcnParameters::clamp_tgt_rate>(1), "0",
     "1: every cut sets the target rate to the current rate; 0: only one after a raise", kLive},
    {"CLAMP_TGT_RATE_AFTER_TIME_INC", dcqcn_at<&DcqcnParameters::clamp_tgt_rate_after_time_inc>(1), "1",
     "1: a raise by the timer counts as one by the byte counter does", kLive},
    {"RPG_TIME_RESET", dcqcn_at<&DcqcnParameters::rpg_time_reset_us>(131071), "300",
     "Time between increases, us; 0: no timer.", knob_notes("RPG_TIME_RESET")},
    {"RPG_BYTE_RESET", dcqcn_at<&DcqcnParameters::rpg_byte_reset_64B>(32767), "32767",
     "Bytes between increases, in units of 64 B; 0: no byte counter.", kLive},
    {"RPG_THRESHOLD", dcqcn_at<&DcqcnParameters::rpg_threshold>(31), "1", "Increases before the next stage.", kLive},
    {"RPG_MAX_RATE", dcqcn_at<&DcqcnParameters::rpg_max_rate_Mbps>(), "0", "Highest rate, Mb/s; 0: line rate.", kLive},
    {"RPG_AI_RATE", dcqcn_at<&DcqcnParameters::rpg_ai_rate_Mbps>(), "5", "Additive increase, Mb/s.",
     knob_notes("RPG_AI_RATE")},
    {"RPG_HAI_RATE", dcqcn_at<&DcqcnParameters::rpg_hai_rate_Mbps>(), "50", "Hyper increase, Mb/s.",
     knob_notes("RPG_HAI_RATE")},
    {"RPG_GD", dcqcn_at<&DcqcnParameters::rpg_gd>(15), "11",
     "A cut is alpha divided by 2^gd, alpha in units of 1/1024.", kLive},
    {"RPG_MIN_DEC_FAC", dcqcn_at<&DcqcnParameters::rpg_min_dec_fac_percent>(100), "50",
     "A cut leaves at least so many percent.", knob_notes("RPG_MIN_DEC_FAC")},
    {"RPG_MIN_RATE", dcqcn_at<&DcqcnParameters::rpg_min_rate_Mbps>(), "1", "Lowest rate, Mb/s.", kLive},
    {"RATE_TO_SET_ON_FIRST_CNP", dcqcn_at<&DcqcnParameters::rate_to_set_on_first_cnp_Mbps>(), "0",
     "Rate that the first cut starts from, Mb/s; 0: the highest.", kLive},
    {"DCE_TCP_G", dcqcn_at<&DcqcnParameters::dce_tcp_g>(1023), "1019", "(1 - g) times 1024: how fast alpha follows.",
     knob_notes("DCE_TCP_G")},
    {"DCE_TCP_RTT", dcqcn_at<&DcqcnParameters::dce_tcp_rtt_us>(131071), "1", "Period of alpha, us; 0: it never decays.",
     kLive},
    {"RATE_REDUCE_MONITOR_PERIOD", dcqcn_at<&DcqcnParameters::rate_reduce_monitor_period_us>(), "4",
     "At most one cut in so many us; 0: every CNP cuts.", knob_notes("RATE_REDUCE_MONITOR_PERIOD")},
    {"INITIAL_ALPHA_VALUE", dcqcn_at<&DcqcnParameters::initial_alpha_value>(1023), "1023",
     "Alpha at the start, in units of 1/1024.", kLive},
};
constexpr Field<Contract> kDcqcnHostFields[] = {
    {"MIN_TIME_BETWEEN_CNPS",
     parsed_at<&Contract::min_time_between_cnps_ps>(
         [](const YamlNode& node, std::string_view what, ProblemList& problems) {
           const auto time_us = read_unsigned(node, what, {0, 4095}, problems);
           return time_us ? std::optional(us(static_cast<std::int64_t>(*time_us))) : std::nullopt;
         },
         [](std::int64_t time_ps) { return fmt::format("{}", time_ps / kMicrosecond_ps); },
         R"("type": "integer", "minimum": 0, "maximum": 4095)", "0 to 4095"),
     "of the NIC model", "Shortest time between two CNPs, us.", kLive},
    {"ROCE_CC_PRIO_MASK", number_at<&Contract::host, &PortQos::cc_prio_mask>({0, 255}), "255",
     "Bit n: priority n is controlled.", kLive},
};
constexpr Field<Contract> kHpccFields[] = {
    {"eta_permille", hpcc_at<&HpccParameters::eta_permille>(1), "950", "Utilisation that it aims at.", kLive},
    {"max_stage", hpcc_at<&HpccParameters::max_stage>(), "5", "Additive increases before a multiplicative one.", kLive},
    {"ai_rate_Mbps", hpcc_at<&HpccParameters::ai_rate_Mbps>(), "0", "Additive increase; 0: 10 Mb/s for each 25 Gb/s.",
     kLive},
    {"base_rtt_ns", hpcc_at<&HpccParameters::base_rtt_ns>(1), "13000", "Round-trip time without queues.", kLive},
};
constexpr Field<Contract> kTimelyFields[] = {
    {"t_low_ns", timely_at<&TimelyParameters::t_low_ns>(), "50000", "Below this round-trip time the rate rises.",
     kLive},
    {"t_high_ns", timely_at<&TimelyParameters::t_high_ns>(), "500000", "Above this it is cut.", kLive},
    {"min_rtt_ns", timely_at<&TimelyParameters::min_rtt_ns>(1), "20000", "Unit of the gradient.", kLive},
    {"ewma_permille", timely_at<&TimelyParameters::ewma_permille>(), "875",
     "Weight of the new difference in its average.", kLive},
    {"beta_permille", timely_at<&TimelyParameters::beta_permille>(), "800", "Multiplicative decrease.", kLive},
    {"ai_rate_Mbps", timely_at<&TimelyParameters::ai_rate_Mbps>(), "0",
     "Additive increase; 0: 10 Mb/s for each 10 Gb/s.", kLive},
    {"hai_count", timely_at<&TimelyParameters::hai_count>(), "5", "Increases before hyperactive increase.", kLive},
    {"min_rate_Mbps", timely_at<&TimelyParameters::min_rate_Mbps>(), "100", "Lowest rate.", kLive},
};
constexpr Field<Contract> kSwiftFields[] = {
    {"base_target_ns", swift_at<&SwiftParameters::base_target_ns>(), "15000", "Delay that it aims at.", kLive},
    {"hop_scale_ns", swift_at<&SwiftParameters::hop_scale_ns>(), "0", "Added to the target for each hop.", kLive},
    {"flow_scale_range_ns", swift_at<&SwiftParameters::flow_scale_range_ns>(), "30000",
     "Added at most for flows with a small window.", kLive},
    {"ai_permille", swift_at<&SwiftParameters::ai_permille>(), "1000", "Additive increase, of a packet per round trip.",
     kLive},
    {"beta_permille", swift_at<&SwiftParameters::beta_permille>(), "800", "Multiplicative decrease.", kLive},
    {"max_mdf_permille", swift_at<&SwiftParameters::max_mdf_permille>(), "500", "A cut takes at most this share.",
     kLive},
};

constexpr Field<Contract> kCongestionFields[] = {
    {"algorithm",
     choice_at<congestion_words, &Contract::host, &PortQos::congestion, &CongestionParameters::kind>(),
     "`dcqcn`",
     "Of all NICs.",
     {.title = "Algorithm"}},
    {"parameters", choice_value<dcqcn_set_words>(), "`mlx5`",
     "DCQCN's, before those below: of the firmware, or of SIGCOMM'15; `paper` also gives every NIC of the contract the "
     "paper's notification point, a CNP per queue pair and 50 us"},
};

constexpr Field<Contract> kQosFields[] = {
    {"profile",
     choice_value<profile_words>(),
     "`none`",
     "What the other keys of qos start from.",
     {.title = "QoS profile"}},
    {"dscp",
     number_at<&Contract::host, &PortQos::dscp>(kDscps),
     kOfProfile,
     "of RoCE packets, unless a workload or a program sets another",
     {.live = Live::kDscp}},
    {"priority", number_at<&Contract::host, &PortQos::priority>(kClassNumbers), kOfProfile,
     "802.1p and PFC priority of RoCE packets"},
    {"ecn", flag_at<&Contract::host, &PortQos::ect>(), "true",
     "RoCE packets are sent ECT(0), so that they can be marked"},
    {"cnp_dscp", number_at<&Contract::host, &PortQos::cnp_dscp>(kDscps), "48", "of CNPs"},
    {"cnp_priority", number_at<&Contract::host, &PortQos::cnp_priority>(kClassNumbers), "6", "of CNPs"},
    {"trust",
     choice_at<trust_words, &Contract::device, &SwitchQos::trust>(),
     "`dscp`",
     "what switches and NICs go by: the DSCP, or the priority in the VLAN tag (then every port needs a `vlan`)",
     {.live = Live::kTrust}},
    {"dscp_to_priority",
     shaped(kDscpMap, "map"),
     kOfProfile,
     "`{26: 3, 40-47: 5}`, on top of the profile's. At a NIC `priority` and `cnp_priority` stand for their own DSCPs",
     {.live = Live::kPriorityOfDscp, .sonic = "DSCP_TO_TC_MAP"}},
    {"priority_to_queue",
     shaped(kClassMap, "map"),
     kOfProfile,
     "`{3: 3}`: egress queue of a priority",
     {.sonic = "TC_TO_QUEUE_MAP"}},
    {"priority_to_group",
     shaped(kClassMap, "map"),
     kOfProfile,
     "`{3: 3}`: ingress priority group of a priority",
     {.sonic = "TC_TO_PRIORITY_GROUP_MAP"}},
    {"pfc", section_here(kPfcKeys), kOfProfile, "who is paused"},
    {"queues", section_at<&Contract::device, &SwitchQos::queues>(kQueueKeys, Nesting::kByClass), kOfProfile,
     "egress queues by number"},
    {"groups", section_at<&Contract::device, &SwitchQos::groups>(kGroupKeys, Nesting::kByClass), kOfProfile,
     "ingress priority groups by number"},
    {"buffer", section_here(kBufferKeys), "`auto`", "pools of a switch"},
    {"congestion", section_here(kCongestionKeys), "DCQCN", "congestion control of the NICs"},
};

constexpr const Section* kGroupParts[] = {&kGroupWishKeys};
constexpr const Section* kDcqcnParts[] = {&kDcqcnHostKeys};
constexpr const Section* kAlgorithms[] = {&kDcqcnKeys, &kHpccKeys, &kTimelyKeys, &kSwiftKeys};

}  // namespace

constinit const SectionOf<Contract> kQosKeys =
    section_of<kQosFields>("qos", "one contract for hosts and switches: classes, queues, who is paused, who is marked");
constinit const SectionOf<Contract> kPfcKeys = section_of<kPfcFields>("pfc", "priority flow control");
constinit const SectionOf<WatchdogConfig> kWatchdogKeys =
    section_of<kWatchdogFields>("watchdog", "the PFC watchdog of switches");
constinit const SectionOf<QueueConfig> kQueueKeys = section_of<kQueueFields>("queue", "an egress queue of every port");
constinit const SectionOf<EcnRamp> kEcnKeys = section_of<kEcnFields>("ecn", "where a queue marks packets");
constinit const SectionOf<GroupConfig> kGroupKeys =
    section_of<kGroupFields>("group", "an ingress priority group of every port", kGroupParts);
constinit const SectionOf<GroupWish> kGroupWishKeys = section_of<kGroupWishFields>("group_buffer", "");
constinit const SectionOf<Contract> kBufferKeys = section_of<kBufferFields>("buffer", "pools of a switch");
constinit const SectionOf<Contract> kCongestionKeys =
    section_of<kCongestionFields>("congestion", "congestion control of the NICs", kAlgorithms);
constinit const SectionOf<Contract> kDcqcnKeys = section_of<kDcqcnFields>("dcqcn", "", kDcqcnParts);
constinit const SectionOf<Contract> kDcqcnHostKeys = section_of<kDcqcnHostFields>("dcqcn_host", "");
constinit const SectionOf<Contract> kHpccKeys = section_of<kHpccFields>("hpcc", "");
constinit const SectionOf<Contract> kTimelyKeys = section_of<kTimelyFields>("timely", "");
constinit const SectionOf<Contract> kSwiftKeys = section_of<kSwiftFields>("swift", "");

const SectionOf<Contract>* congestion_keys(nic::CongestionKind kind) {
  switch (kind) {
    case nic::CongestionKind::kDcqcn:
      return &kDcqcnKeys;
    case nic::CongestionKind::kHpcc:
      return &kHpccKeys;
    case nic::CongestionKind::kTimely:
      return &kTimelyKeys;
    case nic::CongestionKind::kSwift:
      return &kSwiftKeys;
    case nic::CongestionKind::kOff:
      break;
  }
  return nullptr;
}

std::string class_list_text(std::int64_t mask) {
  std::vector<int> numbers;
  for (int c = 0; c < static_cast<int>(fabric::kClasses); ++c) {
    if ((mask >> c & 1) != 0) numbers.push_back(c);
  }
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

}  // namespace weft::lab
