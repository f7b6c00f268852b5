#include "results/lossless_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/figures.h"
#include "results/counters/drop_reason.h"

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

std::vector<std::pair<std::string, std::uint64_t>> logged_reasons(const SwitchOutcome& device, std::size_t queue) {
  std::map<std::string, std::uint64_t> counts;
  for (const fabric::DropRecord& record : device.drops.records()) {
    if (record.queue == queue && record.out_port < device.ports.size())
      counts[std::string(drop_reason(record.reason).name)] += record.count;
  }
  std::vector<std::pair<std::string, std::uint64_t>> out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
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
      LosslessLoss loss{each.config->name, false, static_cast<std::uint8_t>(group), lossless, 0, 0, {}};
      const std::size_t queue = queue_of_group(qos, group);
      std::uint64_t without_room = 0, from_queue = 0, from_group = 0;
      for (const SwitchPortOutcome& port : each.ports) {
        const std::uint64_t of_queue = queue < fabric::kClasses ? port.counters.queue_drops[queue] : 0;
        without_room += port.counters.group_drops[group] + (lossless ? 0 : of_queue);
        from_queue += of_queue;
        from_group += port.counters.group_drops[group];
        loss.taken += port.counters.rx[group].packets;
      }
      // What finds no room on the way in is counted at the queue that it was for as well.
      loss.lost = std::max(from_queue, from_group);
      if (without_room == 0 && loss.lost * kOneIn <= loss.taken) continue;
      loss.reasons = logged_reasons(each, queue);
      losses.push_back(std::move(loss));
    }
  }
  if (!is_lossless_to_hosts(lab)) return losses;
  for (const PortOutcome& port : result.ports) {
    const std::uint64_t lost = port.counters.rx_discards_phy;
    const std::uint64_t taken = port.counters.priorities[lab.qos.priority & 7].rx.packets + lost;
    if (lost > 0) losses.push_back({port.name, true, lab.qos.priority, true, lost, taken, {{"RX buffer full", lost}}});
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
    out += fmt::format("- {} lost {} of {} packets ({}) of {} {}", loss.where, loss.lost, loss.taken, share_text(part),
                       loss.by_nic ? "priority" : "priority group", loss.group);
    if (loss.by_nic) {
      out += ": its receive buffer was full";
    } else if (!loss.reasons.empty()) {
      std::string list;
      for (const auto& [reason, count] : loss.reasons)
        list += fmt::format("{}{}", list.empty() ? "" : ", ",
                            loss.reasons.size() == 1 ? reason : fmt::format("{} {}", count, reason));
      out += ": " + list;
    }
    if (!loss.is_lossless) out += fmt::format(", which is not lossless there: it takes DSCP {} into it", lab.qos.dscp);
    out += '\n';
  }
  if (losses.size() > kMostShown) out += fmt::format("- and {} more in results.json\n", losses.size() - kMostShown);
  return out + "\n";
}

}  // namespace weft::lab
