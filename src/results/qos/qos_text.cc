#include "results/qos/qos_text.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "base/figures.h"
#include "base/text_table.h"
#include "model/qos_words.h"
#include "results/qos/qos_rows.h"
#include "text/units.h"

namespace weft::lab {
namespace {

std::string alpha_text(std::int8_t exponent) {
  return exponent >= 0 ? fmt::format("{}", 1 << exponent) : fmt::format("1/{}", 1 << -exponent);
}

std::string programmed(std::int64_t size_B, std::uint32_t cell_B) {
  return fmt::format("{} → {} cells", exact_size_text(size_B), cells(size_B, cell_B));
}

std::string ecn_text(const fabric::EcnRamp& ecn) {
  if (!ecn.enabled) return "–";
  return fmt::format("{} to {}, {}", exact_size_text(ecn.min_B), exact_size_text(ecn.max_B),
                     format_quantity(ecn.probability_ppb, Quantity::kProbability));
}

std::string_view held_back(const fabric::SwitchQos& qos, const QosChain& chain) {
  if (!chain.lossless) return chain.pfc ? "received only" : "–";
  return chain.pfc || qos.flow_control == fabric::FlowControl::kPause ? "lossless" : "lossless, not paused";
}

std::string chain_table(const fabric::SwitchQos& qos) {
  TextTable rows({"dscp", "priority", "queue", "scheduler", "ecn", "queue α", "group", "group α", "pfc"},
                 TextTable::Align::kLeft);
  for (const QosChain& chain : qos_chains(qos)) {
    const fabric::QueueConfig& queue = qos.queues[chain.queue];
    rows.add_row(
        {chain.dscps.empty() ? "–" : ranges(chain.dscps), ranges(chain.priorities), fmt::format("{}", chain.queue),
         queue.scheduling == fabric::Scheduling::kStrict ? "strict" : fmt::format("dwrr {}", queue.weight),
         ecn_text(queue.ecn), queue.lossless ? "–" : alpha_text(queue.alpha_exponent), fmt::format("{}", chain.group),
         alpha_text(qos.groups[chain.group].alpha_exponent), std::string(held_back(qos, chain))});
  }
  return rows.text("  ");
}

std::string port_table(const Lab& lab, std::uint32_t index) {
  const SwitchConfig& device = lab.switches[index];
  const std::uint32_t cell_B = device.model.cell_B;
  TextTable rows({"ports", "rate", "cable", "group", "xoff headroom", "xon", "reserved"}, TextTable::Align::kLeft);
  for (const QosPorts& ports : qos_ports(lab, index)) {
    bool first = true;
    for (std::size_t group = 0; group < fabric::kClasses; ++group) {
      const fabric::GroupConfig& config = device.qos.groups[group];
      if (!config.lossless) continue;
      rows.add_row({first ? ports.ports : "", first ? format_quantity(ports.rate_bps, Quantity::kBitRate) : "",
                    first ? format_quantity(ports.length_mm, Quantity::kLength) : "", fmt::format("{}", group),
                    programmed(ports.headroom_B[group], cell_B), programmed(config.xon_B, cell_B),
                    programmed(config.reserved_B, cell_B)});
      first = false;
    }
  }
  return rows.empty() ? "" : "\n" + rows.text("  ");
}

std::string switch_text(const Lab& lab, std::uint32_t index) {
  const SwitchConfig& device = lab.switches[index];
  const fabric::SwitchQos& qos = device.qos;
  const fabric::WatchdogConfig& dog = qos.watchdog;
  std::string text =
      fmt::format("  {}: {} in cells of {} B; trust {}; flow control {}; watchdog {}\n\n", device.model.name,
                  size_text(device.model.buffer_B), device.model.cell_B, word_of(trust_words(), qos.trust),
                  word_of(flow_control_words(), qos.flow_control),
                  dog.enabled ? fmt::format("{} after {}, back after {}", word_of(watchdog_words(), dog.action),
                                            format_quantity(dog.detection_ps, Quantity::kTime),
                                            format_quantity(dog.restoration_ps, Quantity::kTime))
                              : "off");
  text += chain_table(qos) + port_table(lab, index) + "\n";
  for (std::size_t i = 0; i < fabric::kClasses; ++i) {
    const fabric::QueueConfig& queue = qos.queues[i];
    if (!queue.ecn.enabled) continue;
    text +=
        fmt::format("  queue {} marks from {} to {}, at {}; not ECT: {}\n", i,
                    programmed(queue.ecn.min_B, device.model.cell_B), programmed(queue.ecn.max_B, device.model.cell_B),
                    word_of(mark_words(), queue.ecn.at_enqueue), word_of(not_ect_words(), queue.ecn.drops_not_ect));
  }
  text += fmt::format("  pools: ingress {}, egress {}, headroom {}\n", size_text(qos.ingress_pool_B),
                      size_text(qos.egress_pool_B),
                      qos.headroom_pool_B > 0 ? size_text(qos.headroom_pool_B) : "of each port");
  for (const std::string& gap : qos_gaps(device)) text += fmt::format("  not modelled: {}\n", gap);
  return text;
}

std::string host_text(const HostConfig& host) {
  const nic::PortQos& qos = host.qos;
  std::vector<int> priorities;
  for (int priority = 0; priority < 8; ++priority) {
    if ((qos.pfc_mask >> priority & 1) != 0) priorities.push_back(priority);
  }
  TextTable rows({"traffic", "dscp", "priority", "ecn", "pfc"}, TextTable::Align::kLeft);
  const auto pfc = [&](std::uint8_t priority) { return (qos.pfc_mask >> priority & 1) != 0 ? "lossless" : "–"; };
  rows.add_row({"RoCE", fmt::format("{}", qos.dscp), fmt::format("{}", qos.priority), qos.ect ? "ECT(0)" : "not ECT",
                pfc(qos.priority)});
  rows.add_row(
      {"CNP", fmt::format("{}", qos.cnp_dscp), fmt::format("{}", qos.cnp_priority), "–", pfc(qos.cnp_priority)});
  const std::string_view control = word_of(congestion_words(), qos.congestion.kind);
  return fmt::format("  {}: congestion control {}; flow control {}{}\n\n", host.nics[0].model.name, control,
                     word_of(flow_control_words(), qos.flow_control),
                     priorities.empty() ? "" : fmt::format(" on {}", fmt::join(priorities, ", "))) +
         rows.text("  ");
}

// Devices whose text is the same, in the order of the lab.
struct Alike {
  std::vector<std::string_view> names;
  std::string text;
};

std::string title(const std::vector<std::string_view>& names) {
  constexpr std::size_t kShown = 8;
  if (names.size() <= kShown) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{}, {}, … {} ({} alike)", names[0], names[1], names.back(), names.size());
}

}  // namespace

std::string qos_text(const Lab& lab, std::string_view node) {
  std::vector<Alike> all;
  const auto add = [&](std::string_view name, std::string text) {
    for (Alike& alike : all) {
      if (alike.text != text) continue;
      alike.names.push_back(name);
      return;
    }
    all.push_back({{name}, std::move(text)});
  };
  for (std::uint32_t i = 0; i < lab.switches.size(); ++i) {
    if (node.empty() || node == lab.switches[i].name) add(lab.switches[i].name, switch_text(lab, i));
  }
  for (const HostConfig& host : lab.hosts) {
    if (!host.nics.empty() && (node.empty() || node == host.name)) add(host.name, host_text(host));
  }
  std::string text;
  for (const Alike& alike : all) {
    if (!text.empty()) text += "\n";
    text += title(alike.names) + "\n" + alike.text;
  }
  return text;
}

}  // namespace weft::lab
