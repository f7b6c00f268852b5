#include "model/qos_words.h"

namespace weft::lab {
namespace {

using fabric::FlowControl;
using fabric::Scheduling;
using fabric::Trust;
using fabric::WatchdogAction;
using nic::CongestionKind;

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

constexpr Word<bool> kDcqcnSetWords[] = {{"mlx5", false}, {"paper", true}};

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

std::span<const Word<bool>> dcqcn_set_words() {
  return kDcqcnSetWords;
}

}  // namespace weft::lab
