#include "model/qos_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/figures.h"
#include "model/qos_fields.h"
#include "model/qos_words.h"
#include "text/units.h"

namespace weft::lab {
namespace {

using fabric::FlowControl;
using fabric::kClasses;

constexpr const char* kNone = "-";

class List {
 public:
  void add(std::string key, std::string value) { out_.push_back({std::move(key), std::move(value)}); }
  void add(std::string key, std::uint64_t value) { add(std::move(key), fmt::format("{}", value)); }
  void add(std::string key, std::string_view word) { add(std::move(key), std::string(word)); }
  void add_parameters(const SectionOf<QosContract>& keys, const QosContract& contract) {
    const bool apply = congestion_keys(contract.host.congestion.kind) == &keys;
    for (const FieldInfo& each : keys.fields)
      add(fmt::format("congestion.{}", each.key), apply ? field_text(each, &contract).value_or(kNone) : kNone);
  }
  void add_dscp_map(const std::array<std::uint8_t, 64>& map) {
    for (std::size_t dscp = 0; dscp < map.size(); ++dscp) add(fmt::format("dscp_to_priority.{}", dscp), map[dscp]);
  }
  std::vector<QosSetting> take() { return std::move(out_); }

 private:
  std::vector<QosSetting> out_;
};

std::string pfc_text(FlowControl flow_control, std::uint8_t mask) {
  if (flow_control == FlowControl::kNone) return "off";
  if (flow_control == FlowControl::kPause) return "pause";
  std::vector<int> priorities;
  for (int priority = 0; priority < 8; ++priority) {
    if ((mask >> priority & 1) != 0) priorities.push_back(priority);
  }
  return priorities.empty() ? "off" : fmt::format("priority {}", fmt::join(priorities, ", "));
}

std::string ecn_text(const fabric::EcnRamp& ecn) {
  if (!ecn.enabled) return "off";
  std::string out = fmt::format("{} to {}, {}", exact_size_text(ecn.min_B), exact_size_text(ecn.max_B),
                                format_quantity(ecn.probability_ppb, Quantity::kProbability));
  if (ecn.weight_exponent > 0) out += fmt::format(", average 2^-{}", ecn.weight_exponent);
  if (ecn.at_enqueue) out += ", mark at enqueue";
  if (!ecn.drops_not_ect) out += ", not ECT passes";
  return out;
}

}  // namespace

std::vector<QosSetting> contract_settings(const nic::PortQos& qos) {
  List list;
  list.add("dscp", qos.dscp);
  list.add("priority", qos.priority);
  list.add("ecn", std::string_view(qos.ect ? "on" : "off"));
  list.add("cnp_dscp", qos.cnp_dscp);
  list.add("cnp_priority", qos.cnp_priority);
  list.add("trust", std::string_view(qos.trust_dscp ? "dscp" : "pcp"));
  list.add("pfc", pfc_text(qos.flow_control, qos.pfc_mask));
  list.add("pfc.quanta", qos.pause_quanta);
  QosContract contract;
  contract.host = qos;
  const nic::CongestionKind algorithm = qos.congestion.kind;
  list.add("congestion.algorithm", word_of(congestion_words(), algorithm));
  list.add("congestion.ROCE_CC_PRIO_MASK",
           algorithm == nic::CongestionKind::kDcqcn ? fmt::format("{}", qos.cc_prio_mask) : kNone);
  for (const auto* keys : {&kDcqcnKeys, &kHpccKeys, &kTimelyKeys, &kSwiftKeys}) list.add_parameters(*keys, contract);
  list.add_dscp_map(qos.priority_of_dscp);
  return list.take();
}

std::vector<QosSetting> contract_settings(const fabric::SwitchQos& qos) {
  List list;
  list.add("trust", word_of(trust_words(), qos.trust));
  list.add("pfc", pfc_text(qos.flow_control, qos.pfc_receive_mask));
  list.add("pfc.quanta", qos.pause_quanta);
  const fabric::WatchdogConfig& watchdog = qos.watchdog;
  list.add("pfc.watchdog", watchdog.enabled
                               ? fmt::format("{}, detection {}", word_of(watchdog_words(), watchdog.action),
                                             format_quantity(watchdog.detection_ps, Quantity::kTime))
                               : std::string("off"));
  for (std::size_t i = 0; i < kClasses; ++i) list.add(fmt::format("priority_to_queue.{}", i), qos.queue_of_priority[i]);
  for (std::size_t i = 0; i < kClasses; ++i) list.add(fmt::format("priority_to_group.{}", i), qos.group_of_priority[i]);
  for (std::size_t i = 0; i < kClasses; ++i) {
    const fabric::QueueConfig& queue = qos.queues[i];
    const std::string at = fmt::format("queues.{}.", i);
    list.add(at + "ecn", ecn_text(queue.ecn));
    list.add(at + "scheduling", queue.scheduling == fabric::Scheduling::kDwrr
                                    ? fmt::format("dwrr, weight {}", queue.weight)
                                    : std::string("strict"));
    list.add(at + "alpha", fmt::format("{}", queue.alpha_exponent));
    list.add(at + "reserved", exact_size_text(queue.reserved_B));
  }
  for (std::size_t i = 0; i < kClasses; ++i) {
    const fabric::GroupConfig& group = qos.groups[i];
    const std::string at = fmt::format("groups.{}.", i);
    list.add(at + "lossless", std::string_view(group.lossless ? "true" : "false"));
    list.add(at + "alpha", fmt::format("{}", group.alpha_exponent));
    list.add(at + "reserved", exact_size_text(group.reserved_B));
    list.add(at + "xon", exact_size_text(group.xon_B));
    list.add(at + "xon_offset", exact_size_text(group.xon_offset_B));
  }
  list.add_dscp_map(qos.priority_of_dscp);
  return list.take();
}

}  // namespace weft::lab
