#include "results/setting_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/plural.h"
#include "model/qos_settings.h"

namespace weft::lab {
namespace {

using fabric::FlowControl;

constexpr const char* kContract = "in the lab's contract";

// The switch that a host's first cable leads to.
const SwitchConfig* next_switch(const Lab& lab, std::uint32_t host) {
  for (const LinkConfig& link : lab.links) {
    for (const auto& [end, far] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
      if (!end.is_switch() && end.host == host && far.is_switch()) return &lab.switches[far.host];
    }
  }
  return nullptr;
}

bool is_forwarder_or_none(const SwitchConfig* device) {
  return device == nullptr || device->forwarder.has_value();
}

struct SwitchClass {
  std::uint8_t priority = 0, queue = 0;
  bool lossless = false, marks = false, strict = false;
};
SwitchClass class_of(const fabric::SwitchQos& qos, std::uint8_t dscp, std::uint8_t tag) {
  SwitchClass out;
  out.priority = (qos.trust == fabric::Trust::kDscp ? qos.priority_of_dscp[dscp & 63] : tag) & 7;
  out.queue = qos.queue_of_priority[out.priority] & 7;
  out.lossless = qos.groups[qos.group_of_priority[out.priority] & 7].lossless;
  out.marks = qos.queues[out.queue].ecn.enabled;
  out.strict = qos.queues[out.queue].scheduling == fabric::Scheduling::kStrict;
  return out;
}

// What a switch makes of RoCE now, in place of what the contract means.
std::string data_class_text(const std::string& node, const SwitchClass& now, const SwitchClass& meant) {
  if (now.priority == meant.priority && now.queue == meant.queue && now.lossless == meant.lossless) return "";
  std::string out = fmt::format("{} takes RoCE as priority {}, queue {}", node, now.priority, now.queue);
  if (meant.lossless && !now.lossless) out += ", which is lossy there: it drops where others pause";
  if (meant.marks && !now.marks)
    out += meant.lossless && !now.lossless ? ", and does not mark" : ", which does not mark";
  return out;
}

std::string cnp_class_text(const std::string& node, const SwitchClass& now, const SwitchClass& meant,
                           const SwitchClass& data) {
  if (now.priority == meant.priority && now.queue == meant.queue && now.strict == meant.strict) return "";
  const std::string takes = fmt::format("{} takes CNPs as priority {}, queue {}", node, now.priority, now.queue);
  if (now.queue == data.queue) return takes + ": they wait behind the data that they are to slow down";
  if (now.lossless) return takes + ", which is lossless: a pause holds them back";
  if (meant.strict && !now.strict) return takes + ", which is not strict: they wait behind other traffic";
  return takes;
}

std::string host_effect(const Lab& lab, std::uint32_t index, const std::string& key) {
  const nic::PortQos &now = lab.hosts[index].qos, &meant = lab.qos;
  const SwitchConfig* device = next_switch(lab, index);
  if (key == "dscp" && !is_forwarder_or_none(device)) {
    const std::string text = data_class_text(device->name, class_of(device->qos, now.dscp, now.priority),
                                             class_of(device->qos, meant.dscp, meant.priority));
    return text.empty() ? device->name + " takes both alike" : text;
  }
  if ((key == "cnp_dscp" || key == "cnp_priority") && !is_forwarder_or_none(device))
    return cnp_class_text(device->name, class_of(device->qos, now.cnp_dscp, now.cnp_priority),
                          class_of(device->qos, meant.cnp_dscp, meant.cnp_priority),
                          class_of(device->qos, meant.dscp, meant.priority));
  if (key == "priority") return fmt::format("pauses of priority {} do not stop its RoCE", meant.priority);
  if (key == "ecn") return now.ect ? "" : "switches cannot mark its packets; a queue that would, drops them";
  if (key == "pfc") {
    const bool stops = now.flow_control == FlowControl::kPause || (now.pfc_mask >> meant.priority & 1) != 0;
    if (stops) return "";
    return fmt::format(
        "it does not stop for pauses of priority {}, and sends none when its receive buffer fills: packets are lost",
        meant.priority);
  }
  if (key == "congestion.algorithm" && now.congestion.kind == nic::CongestionKind::kOff)
    return "it does not slow down for CNPs: the others do in its place";
  if (key == "congestion.ROCE_CC_PRIO_MASK" && (now.cc_prio_mask >> now.priority & 1) == 0)
    return fmt::format("congestion control is off for priority {}", now.priority);
  return "";
}

std::string switch_effect(const Lab& lab, const SwitchConfig& device, const std::string& key) {
  const SwitchClass now = class_of(device.qos, lab.qos.dscp, lab.qos.priority);
  const SwitchClass meant = class_of(device.common, lab.qos.dscp, lab.qos.priority);
  if (key == fmt::format("dscp_to_priority.{}", lab.qos.cnp_dscp)) {
    return cnp_class_text(device.name, class_of(device.qos, lab.qos.cnp_dscp, lab.qos.cnp_priority),
                          class_of(device.common, lab.qos.cnp_dscp, lab.qos.cnp_priority), now);
  }
  const bool is_map = key == fmt::format("dscp_to_priority.{}", lab.qos.dscp) || key == "trust" ||
                      key == fmt::format("priority_to_queue.{}", meant.priority) ||
                      key == fmt::format("priority_to_group.{}", meant.priority);
  if (is_map) return data_class_text(device.name, now, meant);
  if (key == "pfc" && meant.lossless && !now.lossless) return "it sends no pauses and obeys none: it drops";
  if (key == fmt::format("queues.{}.ecn", meant.queue) && !device.qos.queues[meant.queue].ecn.enabled)
    return fmt::format("it marks no RoCE: senders through it hear of a queue by {}", now.lossless ? "pauses" : "drops");
  return "";
}

// Of DSCP maps only the entries that RoCE or CNPs of the lab use.
bool is_of_use(const Lab& lab, bool trusts_dscp, const std::string& key) {
  const std::string prefix = "dscp_to_priority.";
  if (!key.starts_with(prefix)) return true;
  if (!trusts_dscp) return false;
  const int dscp = std::stoi(key.substr(prefix.size()));
  if (dscp == lab.qos.dscp || dscp == lab.qos.cnp_dscp) return true;
  return std::any_of(lab.hosts.begin(), lab.hosts.end(),
                     [&](const HostConfig& host) { return host.qos.dscp == dscp || host.qos.cnp_dscp == dscp; }) ||
         std::any_of(lab.workloads.begin(), lab.workloads.end(),
                     [&](const WorkloadConfig& each) { return each.dscp && *each.dscp == dscp; });
}

class Differences {
 public:
  void add(const std::string& node, const std::string& key, const std::string& value, const std::string& usual,
           const std::string& reference, const std::string& effect) {
    for (SettingEvidence& each : out_) {
      if (each.key != key || each.value != value || each.usual != usual) continue;
      each.nodes.push_back(node);
      if (each.effect.empty()) each.effect = effect;
      return;
    }
    out_.push_back({{node}, key, value, usual, reference, effect});
  }
  void add(const std::string& node, const std::vector<QosSetting>& now, const std::vector<QosSetting>& meant,
           const auto& is_wanted, const auto& effect) {
    for (std::size_t i = 0; i < now.size(); ++i) {
      // What one algorithm has and the other not is said by its name.
      if (now[i] == meant[i] || now[i].value == "-" || meant[i].value == "-" || !is_wanted(now[i].key)) continue;
      add(node, now[i].key, now[i].value, meant[i].value, kContract, effect(now[i].key));
    }
  }
  std::vector<SettingEvidence> take() { return std::move(out_); }

 private:
  std::vector<SettingEvidence> out_;
};

// Ports of hosts whose MTU is not that of most others.
void add_mtus(const Lab& lab, Differences& differences) {
  std::map<std::int64_t, std::size_t> counts;
  const auto each_port = [&](const auto& visit) {
    for (const HostConfig& host : lab.hosts) {
      if (host.outside) continue;
      for (const NicConfig& nic : host.nics) {
        for (const PortConfig& port : nic.ports) visit(host, port);
      }
    }
  };
  each_port([&](const HostConfig&, const PortConfig& port) { ++counts[port.netdev_mtu_B]; });
  if (counts.size() < 2) return;
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  each_port([&](const HostConfig& host, const PortConfig& port) {
    if (counts[port.netdev_mtu_B] * 2 > most->second) return;  // no exception, but another kind of port
    const bool smaller = port.netdev_mtu_B < most->first;
    differences.add(host.name + ":" + port.name, "mtu", fmt::format("{}", port.netdev_mtu_B),
                    fmt::format("{}", most->first), fmt::format("at {}", counted(most->second, "other port")),
                    smaller ? "its queue pairs take the smaller path MTU" : "");
  });
}

}  // namespace

std::vector<SettingEvidence> setting_differences(const Lab& lab) {
  Differences differences;
  const std::vector<QosSetting> meant = contract_settings(lab.qos);
  for (std::uint32_t i = 0; i < lab.hosts.size(); ++i) {
    const HostConfig& host = lab.hosts[i];
    if (host.outside || host.qos == lab.qos) continue;
    differences.add(
        host.name, contract_settings(host.qos), meant,
        [&](const std::string& key) { return is_of_use(lab, host.qos.trust_dscp, key); },
        [&](const std::string& key) { return host_effect(lab, i, key); });
  }
  for (const SwitchConfig& device : lab.switches) {
    if (device.forwarder) continue;
    differences.add(
        device.name, contract_settings(device.qos), contract_settings(device.common),
        [&](const std::string& key) { return is_of_use(lab, device.qos.trust == fabric::Trust::kDscp, key); },
        [&](const std::string& key) { return switch_effect(lab, device, key); });
  }
  add_mtus(lab, differences);
  return differences.take();
}

}  // namespace weft::lab
