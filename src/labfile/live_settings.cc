#include "labfile/live_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "labfile/words.h"
#include "text/units.h"

namespace weft::lab {
namespace {

std::string list_of(std::uint8_t classes) {
  std::vector<int> numbers;
  for (int c = 0; c < 8; ++c) {
    if (classes >> c & 1) numbers.push_back(c);
  }
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

template <class Parameters>
void add(std::span<const ParameterKey<Parameters>> keys, const Parameters& parameters, std::vector<Setting>& settings) {
  for (const auto& key : keys)
    settings.push_back({fmt::format("congestion.{}", key.name), fmt::format("{}", parameters.*key.member)});
}

constexpr std::string_view kMapPrefix = "dscp_to_priority.";

// "dscp_to_priority.24-31  3"
void add_dscp_map(const std::array<std::uint8_t, 64>& map, std::vector<Setting>& settings) {
  for (std::size_t first = 0, next = 0; first < map.size(); first = next) {
    while (next < map.size() && map[next] == map[first]) ++next;
    settings.push_back({next == first + 1 ? fmt::format("{}{}", kMapPrefix, first)
                                          : fmt::format("{}{}-{}", kMapPrefix, first, next - 1),
                        fmt::format("{}", map[first])});
  }
}

bool matches(const LiveSetting& setting, std::string_view key) {
  switch (setting.kind) {
    case LiveKind::kCongestion:
      return key.starts_with("congestion.") && key != "congestion.algorithm";
    case LiveKind::kPriorityOfDscp:
      return key.starts_with(kMapPrefix);
    case LiveKind::kPfc:
    case LiveKind::kPauseMode:
    case LiveKind::kTrust:
    case LiveKind::kDscp:
    case LiveKind::kMtu:
      return key == setting.key;
    case LiveKind::kEcn:
    case LiveKind::kAlpha:
      break;
  }
  // "queues.N.ecn", where a key may go on: "queues.3.ecn.min"
  const std::size_t number = setting.key.find('N');
  if (!key.starts_with(setting.key.substr(0, number))) return false;
  key.remove_prefix(std::min(key.find('.', number), key.size()));
  const std::string_view rest = setting.key.substr(number + 1);
  return key == rest || (setting.kind == LiveKind::kEcn && key.starts_with(std::string(rest) + "."));
}

}  // namespace

std::vector<Setting> settings_of(const fabric::SwitchQos& qos, std::uint8_t pfc) {
  std::vector<Setting> settings;
  for (std::size_t q = 0; q < fabric::kClasses; ++q) {
    const fabric::EcnRamp& ecn = qos.queues[q].ecn;
    const std::string at = fmt::format("queues.{}.", q);
    if (ecn.enabled) {
      settings.push_back({at + "ecn.min", format_quantity(ecn.min_B, Quantity::kSize)});
      settings.push_back({at + "ecn.max", format_quantity(ecn.max_B, Quantity::kSize)});
      settings.push_back({at + "ecn.probability", format_quantity(ecn.probability_ppb, Quantity::kProbability)});
      settings.push_back({at + "ecn.average", fmt::format("{}", ecn.weight_exponent)});
      settings.push_back({at + "ecn.mark", std::string(word_of(mark_words(), ecn.at_enqueue))});
      settings.push_back({at + "ecn.not_ect", std::string(word_of(not_ect_words(), ecn.drops_not_ect))});
    } else {
      settings.push_back({at + "ecn", "off"});
    }
    settings.push_back({at + "alpha", fmt::format("{}", qos.queues[q].alpha_exponent)});
  }
  for (std::size_t g = 0; g < fabric::kClasses; ++g)
    settings.push_back({fmt::format("groups.{}.alpha", g), fmt::format("{}", qos.groups[g].alpha_exponent)});
  settings.push_back({"pfc.priorities", list_of(qos.pfc_receive_mask & pfc)});
  return settings;
}

std::vector<Setting> settings_of(const nic::PortQos& qos, Time_ps min_time_between_cnps_ps, std::uint8_t dscp,
                                 std::int64_t mtu_B) {
  std::vector<Setting> settings;
  switch (qos.congestion.kind) {
    case nic::CongestionKind::kDcqcn:
      add(dcqcn_keys(), qos.congestion.dcqcn, settings);
      settings.push_back(
          {"congestion.MIN_TIME_BETWEEN_CNPS", fmt::format("{}", min_time_between_cnps_ps / kMicrosecond_ps)});
      settings.push_back({"congestion.ROCE_CC_PRIO_MASK", fmt::format("{}", qos.cc_prio_mask)});
      break;
    case nic::CongestionKind::kHpcc:
      add(hpcc_keys(), qos.congestion.hpcc, settings);
      break;
    case nic::CongestionKind::kTimely:
      add(timely_keys(), qos.congestion.timely, settings);
      break;
    case nic::CongestionKind::kSwift:
      add(swift_keys(), qos.congestion.swift, settings);
      break;
    case nic::CongestionKind::kOff:
      break;
  }
  settings.push_back({"pfc.priorities", list_of(qos.pfc_mask)});
  settings.push_back({"pfc.mode", std::string(word_of(flow_control_words(), qos.flow_control))});
  settings.push_back(
      {"trust", std::string(word_of(trust_words(), qos.trust_dscp ? fabric::Trust::kDscp : fabric::Trust::kPcp))});
  add_dscp_map(qos.priority_of_dscp, settings);
  settings.push_back({"dscp", fmt::format("{}", dscp)});
  settings.push_back({"mtu", fmt::format("{} B", mtu_B)});
  return settings;
}

std::string port_key(const Lab& lab, const PortRef& port, std::string_view key) {
  const HostConfig& host = lab.hosts[port.host];
  if (host.of_fabric) return fmt::format("fabric.host.{}", key);
  return fmt::format("nodes.{}.nics[{}].ports.{}.{}", host.name, port.nic, host.nics[port.nic].ports[port.port].name,
                     key);
}

std::span<const LiveSetting> live_settings() {
  static constexpr LiveSetting kSettings[] = {{"queues.N.ecn", LiveKind::kEcn, true, false},
                                              {"queues.N.alpha", LiveKind::kAlpha, true, false},
                                              {"groups.N.alpha", LiveKind::kAlpha, true, false},
                                              {"pfc.priorities", LiveKind::kPfc, true, true},
                                              {"pfc.mode", LiveKind::kPauseMode, false, true},
                                              {"congestion.KEY", LiveKind::kCongestion, false, true},
                                              {"trust", LiveKind::kTrust, false, true},
                                              {"dscp_to_priority.N", LiveKind::kPriorityOfDscp, false, true},
                                              {"dscp", LiveKind::kDscp, false, true},
                                              {"mtu", LiveKind::kMtu, false, true}};
  return kSettings;
}

const LiveSetting* find_live_setting(std::string_view key, bool is_switch) {
  for (const LiveSetting& each : live_settings()) {
    if (is_switch ? each.of_switch : each.of_host) {
      if (matches(each, key)) return &each;
    }
  }
  return nullptr;
}

std::optional<std::pair<std::uint8_t, std::uint8_t>> dscps_of(std::string_view key) {
  if (!key.starts_with(kMapPrefix)) return std::nullopt;
  key.remove_prefix(kMapPrefix.size());
  const std::size_t dash = key.find('-');
  const auto first = parse_unsigned(key.substr(0, dash));
  const auto last = dash == key.npos ? first : parse_unsigned(key.substr(dash + 1));
  if (!first || !last || *first > *last || *last > 63) return std::nullopt;
  return std::pair(static_cast<std::uint8_t>(*first), static_cast<std::uint8_t>(*last));
}

}  // namespace weft::lab
