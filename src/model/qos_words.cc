#include "model/qos_words.h"

namespace weft::lab {
namespace {

using fabric::FlowControl;
using fabric::Scheduling;
using fabric::Trust;
using fabric::WatchdogAction;
using nic::CongestionKind;
using nic::DcqcnParameters;
using nic::HpccParameters;
using nic::SwiftParameters;
using nic::TimelyParameters;

constexpr Word<QosProfile> kProfileWords[] = {{"none", QosProfile::kNone},
                                              {"roce-lossless", QosProfile::kRoceLossless},
                                              {"roce-lossy", QosProfile::kRoceLossy},
                                              {"sonic-default", QosProfile::kSonicDefault}};
constexpr Word<Trust> kTrustWords[] = {{"dscp", Trust::kDscp}, {"pcp", Trust::kPcp}};
constexpr Word<FlowControl> kFlowControlWords[] = {
    {"pfc", FlowControl::kPfc}, {"pause", FlowControl::kPause}, {"none", FlowControl::kNone}};
constexpr Word<Scheduling> kSchedulingWords[] = {{"dwrr", Scheduling::kDwrr}, {"strict", Scheduling::kStrict}};
constexpr Word<bool> kMarkWords[] = {{"dequeue", false}, {"enqueue", true}};
constexpr Word<bool> kNotEctWords[] = {{"drop", true}, {"pass", false}};
constexpr Word<WatchdogAction> kWatchdogWords[] = {
    {"drop", WatchdogAction::kDrop}, {"forward", WatchdogAction::kForward}, {"alert", WatchdogAction::kAlert}};
constexpr Word<CongestionKind> kCongestionWords[] = {{"dcqcn", CongestionKind::kDcqcn},
                                                     {"hpcc", CongestionKind::kHpcc},
                                                     {"timely", CongestionKind::kTimely},
                                                     {"swift", CongestionKind::kSwift},
                                                     {"off", CongestionKind::kOff}};

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

std::span<const Word<QosProfile>> profile_words() {
  return kProfileWords;
}
std::span<const Word<Trust>> trust_words() {
  return kTrustWords;
}
std::span<const Word<FlowControl>> flow_control_words() {
  return kFlowControlWords;
}
std::span<const Word<Scheduling>> scheduling_words() {
  return kSchedulingWords;
}
std::span<const Word<bool>> mark_words() {
  return kMarkWords;
}
std::span<const Word<bool>> not_ect_words() {
  return kNotEctWords;
}
std::span<const Word<WatchdogAction>> watchdog_words() {
  return kWatchdogWords;
}
std::span<const Word<CongestionKind>> congestion_words() {
  return kCongestionWords;
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
