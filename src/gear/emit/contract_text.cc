// A contract as text: the chain table of comments, values to compare, a `qos` section of a lab file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/figures.h"
#include "gear/emit/contract.h"
#include "model/qos_words.h"
#include "text/units.h"

namespace weft::gear {
namespace {

using fabric::kClasses;

std::string ramp_text(const fabric::EcnRamp& ecn) {
  if (!ecn.enabled) return "off";
  const std::int64_t percent = ecn.probability_ppb == 0 ? 0 : whole_percent(ecn.probability_ppb);
  return fmt::format("{}..{} B {} %", ecn.min_B, ecn.max_B, percent);
}

std::string scheduler_text(const fabric::QueueConfig& queue) {
  return queue.scheduling == fabric::Scheduling::kStrict ? "strict" : fmt::format("dwrr {}", queue.weight);
}

std::string watchdog_text(const Contract& contract) {
  const fabric::WatchdogConfig& dog = contract.qos.watchdog;
  if (!dog.enabled || contract.pfc_priorities().empty()) return "off";
  std::string text =
      fmt::format("{} after {} ms, back after {} ms, every {} ms", lab::word_of(lab::watchdog_words(), dog.action),
                  whole_ms(dog.detection_ps), whole_ms(dog.restoration_ps), whole_ms(dog.poll_ps));
  if (!contract.watched_mask || *contract.watched_mask == contract.qos.pfc_receive_mask) return text;
  std::vector<int> watched;
  for (int priority = 0; priority < static_cast<int>(kClasses); ++priority) {
    if ((*contract.watched_mask >> priority & 1) != 0) watched.push_back(priority);
  }
  return fmt::format("{}, priorities {} only", text, fmt::join(watched, ","));
}

}  // namespace

std::string dscp_ranges(const fabric::SwitchQos& qos, std::size_t priority) {
  std::string text;
  const auto maps = [&](std::size_t dscp) { return dscp < 64 && qos.priority_of_dscp[dscp] == priority; };
  for (std::size_t dscp = 0; dscp < 64; ++dscp) {
    if (!maps(dscp)) continue;
    const std::size_t first = dscp;
    while (maps(dscp + 1)) ++dscp;
    text += fmt::format("{}{}", text.empty() ? "" : ",", first);
    if (dscp > first) text += fmt::format("-{}", dscp);
  }
  return text;
}

std::string chain_table(const Contract& contract, std::string_view prefix) {
  const fabric::SwitchQos& qos = contract.qos;
  std::string text = fmt::format("{}{:<22} {:>8} {:>2} {:>5} {:>2} {:>3}  {:<10} {}\n", prefix, "dscp", "priority",
                                 "tc", "queue", "pg", "pfc", "scheduler", "ecn");
  for (std::size_t priority = 0; priority < kClasses; ++priority) {
    const std::string dscps = dscp_ranges(qos, priority);
    if (dscps.empty() && qos.trust == fabric::Trust::kDscp) continue;
    const std::uint8_t queue = qos.queue_of_priority[priority];
    text += fmt::format("{}{:<22} {:>8} {:>2} {:>5} {:>2} {:>3}  {:<10} {}\n", prefix,
                        qos.trust == fabric::Trust::kDscp ? dscps : "by pcp", priority, priority, queue,
                        qos.group_of_priority[priority], contract.is_pfc(priority) ? "on" : "-",
                        scheduler_text(qos.queues[queue]), ramp_text(qos.queues[queue].ecn));
  }
  return text;
}

ContractValues contract_values(const Contract& contract) {
  const fabric::SwitchQos& qos = contract.qos;
  ContractValues values;
  const auto add = [&](std::string name, std::string value) { values.emplace_back(std::move(name), std::move(value)); };
  const bool by_dscp = qos.trust == fabric::Trust::kDscp && contract.trusts;
  add("trust", by_dscp ? "dscp" : contract.trusts ? "pcp" : "no field");
  for (std::size_t dscp = 0; by_dscp && dscp < 64; ++dscp)
    add(fmt::format("dscp {} priority", dscp), fmt::format("{}", qos.priority_of_dscp[dscp]));
  for (std::size_t priority = 0; priority < kClasses; ++priority) {
    add(fmt::format("priority {} queue", priority), fmt::format("{}", qos.queue_of_priority[priority]));
    add(fmt::format("priority {} group", priority), fmt::format("{}", qos.group_of_priority[priority]));
    add(fmt::format("priority {} pfc", priority), contract.is_pfc(priority) ? "on" : "off");
    if (contract.is_pfc(priority))
      add(fmt::format("priority {} pauses queue", priority), fmt::format("{}", qos.queue_of_pause[priority]));
  }
  for (std::uint8_t q : contract.queues()) {
    const fabric::QueueConfig& queue = qos.queues[q];
    add(fmt::format("queue {} scheduler", q), scheduler_text(queue));
    add(fmt::format("queue {} ecn", q), ramp_text(queue.ecn));
    if (!queue.lossless) add(fmt::format("queue {} alpha", q), fmt::format("{}", queue.alpha_exponent));
    add(fmt::format("queue {} reserved", q), fmt::format("{}", queue.reserved_B));
  }
  for (std::uint8_t g : contract.groups()) {
    const fabric::GroupConfig& group = qos.groups[g];
    add(fmt::format("group {} lossless", g), group.lossless ? "yes" : "no");
    add(fmt::format("group {} alpha", g), fmt::format("{}", group.alpha_exponent));
    add(fmt::format("group {} reserved", g), fmt::format("{}", group.reserved_B));
    if (!group.lossless) continue;
    add(fmt::format("group {} xon", g), fmt::format("{}", group.xon_B));
    add(fmt::format("group {} xon offset", g), fmt::format("{}", group.xon_offset_B));
  }
  add("ingress pool", fmt::format("{}", qos.ingress_pool_B));
  add("egress pool", fmt::format("{}", qos.egress_pool_B));
  add("headroom pool", fmt::format("{}", qos.headroom_pool_B));
  add("watchdog", watchdog_text(contract));
  for (const ContractPort& port : contract.ports) {
    const std::string& name = port.sonic_name;
    add(name + " admin", port.up ? "up" : "down");
    add(name + " rate", fmt::format("{}", port.rate_bps));
    add(name + " fec", std::string(lab::to_string(port.fec)));
    add(name + " mtu", fmt::format("{}", port.mtu_B));
    add(name + " cable", fmt::format("{} m", whole_metres(port.length_mm)));
    for (std::uint8_t g : contract.groups()) {
      if (qos.groups[g].lossless)
        add(fmt::format("{} group {} headroom", name, g), fmt::format("{}", port.headroom_B[g]));
    }
    for (const auto& [own, value] : port.own) add(fmt::format("{} {}", name, own), value);
  }
  return values;
}

std::vector<std::string> contract_differences(const Contract& a, std::string_view name_a, const Contract& b,
                                              std::string_view name_b) {
  const ContractValues values_a = contract_values(a), values_b = contract_values(b);
  const std::map<std::string_view, std::string_view> of_a(values_a.begin(), values_a.end());
  std::map<std::string_view, std::string_view> of_b(values_b.begin(), values_b.end());
  std::vector<std::string> differences;
  for (const auto& [name, value] : values_a) {
    const auto found = of_b.find(name);
    const std::string_view other = found == of_b.end() ? "nothing" : found->second;
    if (other != value)
      differences.push_back(fmt::format("{}: {} in {}, {} in {}", name, value, name_a, other, name_b));
    if (found != of_b.end()) of_b.erase(found);
  }
  for (const auto& [name, value] : values_b) {
    if (!of_b.contains(name)) continue;
    const auto of_all = of_a.find(std::string_view(name).substr(name.find(' ') + 1));
    const std::string_view other = of_all == of_a.end() ? "nothing" : of_all->second;
    if (other != value)
      differences.push_back(fmt::format("{}: {} in {}, {} in {}", name, other, name_a, value, name_b));
  }
  return differences;
}

std::string contract_yaml(const Contract& contract) {
  const fabric::SwitchQos& qos = contract.qos;
  std::string text = "qos:\n";
  const auto line = [&](std::string part) { text += "  " + std::move(part) + "\n"; };
  line(fmt::format("trust: {}", qos.trust == fabric::Trust::kDscp ? "dscp" : "pcp"));
  std::vector<std::string> entries;
  for (std::size_t priority = 0; priority < kClasses; ++priority) {
    const std::string each = dscp_ranges(qos, priority);
    for (std::size_t at = 0; !each.empty() && at != each.npos;) {
      const std::size_t comma = each.find(',', at);
      entries.push_back(fmt::format("{}: {}", each.substr(at, comma == each.npos ? comma : comma - at), priority));
      at = comma == each.npos ? comma : comma + 1;
    }
  }
  if (qos.trust == fabric::Trust::kDscp) line(fmt::format("dscp_to_priority: {{{}}}", fmt::join(entries, ", ")));
  const auto map = [&](std::string_view key, const std::array<std::uint8_t, kClasses>& of) {
    std::vector<std::string> pairs;
    for (std::size_t i = 0; i < kClasses; ++i) pairs.push_back(fmt::format("{}: {}", i, of[i]));
    line(fmt::format("{}: {{{}}}", key, fmt::join(pairs, ", ")));
  };
  map("priority_to_queue", qos.queue_of_priority);
  map("priority_to_group", qos.group_of_priority);
  const auto time = [](Time_ps value) { return lab::format_quantity(value, lab::Quantity::kTime); };
  const fabric::WatchdogConfig& dog = qos.watchdog;
  if (contract.pfc_priorities().empty()) {
    line("pfc: {mode: none}");
  } else {
    line(fmt::format("pfc: {{mode: pfc, priorities: [{}], watchdog: {}}}", fmt::join(contract.pfc_priorities(), ", "),
                     dog.enabled ? fmt::format("{{detection: {}, restoration: {}, poll: {}, action: {}}}",
                                               time(dog.detection_ps), time(dog.restoration_ps), time(dog.poll_ps),
                                               lab::word_of(lab::watchdog_words(), dog.action))
                                 : "off"));
  }
  line("queues:");
  for (std::uint8_t q : contract.queues()) {
    const fabric::QueueConfig& queue = qos.queues[q];
    const std::string ecn =
        queue.ecn.enabled ? fmt::format("{{min: {}, max: {}, probability: {} %}}", exact_size_text(queue.ecn.min_B),
                                        exact_size_text(queue.ecn.max_B), whole_percent(queue.ecn.probability_ppb))
                          : "off";
    line(fmt::format("  {}: {{scheduling: {}, {}alpha: {}, reserved: {}, ecn: {}}}", q,
                     lab::word_of(lab::scheduling_words(), queue.scheduling),
                     queue.scheduling == fabric::Scheduling::kDwrr ? fmt::format("weight: {}, ", queue.weight) : "",
                     queue.alpha_exponent, exact_size_text(queue.reserved_B), ecn));
  }
  line("groups:");
  for (std::uint8_t g : contract.groups()) {
    const fabric::GroupConfig& group = qos.groups[g];
    std::string headroom;
    if (group.lossless) {
      const auto differs = [&](const ContractPort& port) {
        return port.headroom_B[g] != contract.ports.front().headroom_B[g];
      };
      const bool one = !contract.ports.empty() && std::none_of(contract.ports.begin(), contract.ports.end(), differs);
      headroom = fmt::format(", xon: {}, xon_offset: {}, headroom: {}", exact_size_text(group.xon_B),
                             exact_size_text(group.xon_offset_B),
                             one ? exact_size_text(contract.ports.front().headroom_B[g]) : "auto");
    }
    line(fmt::format("  {}: {{alpha: {}, reserved: {}{}}}", g, group.alpha_exponent, exact_size_text(group.reserved_B),
                     headroom));
  }
  line(fmt::format("buffer: {{ingress_pool: {}, egress_pool: {}, headroom_pool: {}}}",
                   exact_size_text(qos.ingress_pool_B), exact_size_text(qos.egress_pool_B),
                   exact_size_text(qos.headroom_pool_B)));
  return text;
}

}  // namespace weft::gear
