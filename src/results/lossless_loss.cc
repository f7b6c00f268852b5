#include "results/lossless_loss.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::lab {

namespace {

constexpr std::uint64_t kOneIn = 10'000;
constexpr std::size_t kMostShown = 8;

bool is_lossless_to_hosts(const Lab& lab) {
  return lab.qos.flow_control != fabric::FlowControl::kNone && (lab.qos.pfc_mask >> lab.qos.priority & 1) != 0;
}

// The group that the hosts' lossless RoCE packets come into here; fabric::kClasses: they are not lossless to the hosts,
// or their DSCP does not decide.
std::size_t group_of_roce(const Lab& lab, const fabric::SwitchQos& qos) {
  if (!is_lossless_to_hosts(lab) || qos.trust != fabric::Trust::kDscp) return fabric::kClasses;
  return qos.group_of_priority[qos.priority_of_dscp[lab.qos.dscp & 63] & 7];
}

std::size_t queue_of_group(const fabric::SwitchQos& qos, std::size_t group) {
  for (std::size_t priority = 0; priority < fabric::kClasses; ++priority) {
    if (qos.group_of_priority[priority] == group) return qos.queue_of_priority[priority];
  }
  return fabric::kClasses;
}

}  // namespace

std::optional<LossyQueue> lossy_queue_of_roce(const Lab& lab, const fabric::SwitchQos& qos) {
  const std::size_t group = group_of_roce(lab, qos);
  if (group == fabric::kClasses || qos.groups[group].lossless) return std::nullopt;
  const auto priority = static_cast<std::uint8_t>(qos.priority_of_dscp[lab.qos.dscp & 63] & 7);
  return LossyQueue{static_cast<std::uint8_t>(qos.queue_of_priority[priority]), priority};
}

std::vector<LosslessLoss> lossless_losses(const Lab& lab, const RunResult& result) {
  std::vector<LosslessLoss> losses;
  for (const SwitchOutcome& each : result.switches) {
    const fabric::SwitchQos& qos = each.config->qos;
    const std::size_t of_roce = group_of_roce(lab, qos);
    for (std::size_t group = 0; group < fabric::kClasses; ++group) {
      const bool lossless = qos.groups[group].lossless;
      if (!lossless && group != of_roce) continue;
      LosslessLoss loss{each.config->name, false, static_cast<std::uint8_t>(group), lossless, 0, 0};
      const std::size_t queue = queue_of_group(qos, group);
      std::uint64_t without_room = 0;
      for (const SwitchPortOutcome& port : each.ports) {
        const std::uint64_t of_queue = queue < fabric::kClasses ? port.counters.queue_drops[queue] : 0;
        without_room += port.counters.group_drops[group] + (lossless ? 0 : of_queue);
        loss.lost += port.counters.group_drops[group] + of_queue;
        loss.taken += port.counters.rx[group].packets;
      }
      if (without_room > 0 || loss.lost * kOneIn > loss.taken) losses.push_back(loss);
    }
  }
  if (!is_lossless_to_hosts(lab)) return losses;
  for (const PortOutcome& port : result.ports) {
    const std::uint64_t lost = port.counters.rx_discards_phy;
    const std::uint64_t taken = port.counters.priorities[lab.qos.priority & 7].rx.packets + lost;
    if (lost > 0) losses.push_back({port.name, true, lab.qos.priority, true, lost, taken});
  }
  return losses;
}

std::string lossless_notice(const Lab& lab, const RunResult& result) {
  const std::vector<LosslessLoss> losses = lossless_losses(lab, result);
  if (losses.empty()) return "";
  std::string out =
      "**Lossless traffic was lost.** This is not what a lossless fabric does; its figures are those of loss and\n"
      "retransmission.\n\n";
  for (std::size_t i = 0; i < std::min(losses.size(), kMostShown); ++i) {
    const LosslessLoss& loss = losses[i];
    const double part = static_cast<double>(loss.lost) / static_cast<double>(std::max<std::uint64_t>(loss.taken, 1));
    out += fmt::format("- {} lost {} of {} packets ({:.2g} %) of {} {}", loss.where, loss.lost, loss.taken, 100 * part,
                       loss.by_nic ? "priority" : "priority group", loss.group);
    if (loss.by_nic) out += ": its receive buffer was full";
    if (!loss.is_lossless) out += fmt::format(", which is not lossless there: it takes DSCP {} into it", lab.qos.dscp);
    out += '\n';
  }
  if (losses.size() > kMostShown) out += fmt::format("- and {} more in results.json\n", losses.size() - kMostShown);
  return out + "\n";
}

}  // namespace weft::lab
