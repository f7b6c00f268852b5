#include "labfile/live_rows.h"

#include <fmt/format.h>

#include "labfile/lab_fields.h"
#include "model/qos_fields.h"
#include "text/units.h"

namespace weft::lab {
namespace {

// "dscp_to_priority.24-31  3"
void add_dscp_map(const std::string& key, const std::array<std::uint8_t, 64>& map, std::vector<Setting>& settings) {
  for (std::size_t first = 0, next = 0; first < map.size(); first = next) {
    while (next < map.size() && map[next] == map[first]) ++next;
    settings.push_back(
        {next == first + 1 ? fmt::format("{}.{}", key, first) : fmt::format("{}.{}-{}", key, first, next - 1),
         fmt::format("{}", map[first])});
  }
}

class LiveRows {
 public:
  LiveRows(QosContract& contract, bool at_switch) : contract_(contract), at_switch_(at_switch) {}

  std::vector<Setting> take() {
    add(kQosKeys, "", &contract_);
    return std::move(settings_);
  }

 private:
  void add(const Section& section, const std::string& prefix, void* object) {
    for (const FieldInfo& field : section.fields) {
      const std::string key = prefix + std::string(field.key);
      if (field.value.kind == FieldKind::kSection) {
        add_section(field, key, object);
      } else if (!is_live(field.notes.live, at_switch_)) {
        continue;
      } else if (field.notes.live == Live::kPriorityOfDscp) {
        add_dscp_map(key, contract_.device.priority_of_dscp, settings_);
      } else {
        settings_.push_back({key, field_text(field, object).value_or(std::string(field.value.also))});
      }
    }
    for (const Section* part : section.parts) {
      // Of the algorithms that which runs; the buffers of a group do not change.
      const bool own = part == congestion_keys(contract_.host.congestion.kind) || part == &kDcqcnHostKeys;
      if (own) add(*part, prefix, object);
    }
  }

  void add_section(const FieldInfo& field, const std::string& key, void* object) {
    const ValueInfo& value = field.value;
    if (value.load != nullptr && value.load(object) == 0) {
      if (is_live(field.notes.live, at_switch_)) settings_.push_back({key, std::string(value.also)});
    } else if (value.nesting == Nesting::kByClass) {
      for (std::size_t i = 0; i < fabric::kClasses; ++i)
        add(*value.section, fmt::format("{}.{}.", key, i), value.nested(object, i));
    } else {
      add(*value.section, key + ".", value.nested(object, 0));
    }
  }

  QosContract& contract_;
  bool at_switch_;
  std::vector<Setting> settings_;
};

void add_keys(const Section& section, const std::string& prefix, bool at_switch, std::vector<std::string>& keys) {
  for (const FieldInfo& field : section.fields) {
    const std::string key = prefix + std::string(field.key);
    if (is_live(field.notes.live, at_switch))
      keys.push_back(field.notes.live == Live::kPriorityOfDscp ? key + ".N" : key);
    if (field.value.section != nullptr)
      add_keys(*field.value.section, key + (field.value.nesting == Nesting::kByClass ? ".N." : "."), at_switch, keys);
  }
  for (const Section* part : section.parts) add_keys(*part, prefix, at_switch, keys);
}

}  // namespace

std::vector<Setting> settings_of(const fabric::SwitchQos& qos, std::uint8_t pfc) {
  QosContract contract;
  contract.device = qos;
  contract.lossless_priorities = qos.pfc_receive_mask & pfc;
  return LiveRows(contract, true).take();
}

std::vector<Setting> settings_of(const nic::PortQos& qos, Time_ps min_time_between_cnps_ps, std::uint8_t dscp,
                                 std::int64_t mtu_B) {
  QosContract contract;
  contract.host = qos;
  contract.host.dscp = dscp;
  contract.min_time_between_cnps_ps = min_time_between_cnps_ps;
  contract.lossless_priorities = qos.pfc_mask;
  contract.device.flow_control = qos.flow_control;
  contract.device.trust = qos.trust_dscp ? fabric::Trust::kDscp : fabric::Trust::kPcp;
  contract.device.priority_of_dscp = qos.priority_of_dscp;
  std::vector<Setting> settings = LiveRows(contract, false).take();
  settings.push_back({"mtu", fmt::format("{} B", mtu_B)});
  return settings;
}

std::string port_key(const Lab& lab, const PortRef& port, std::string_view key) {
  const HostConfig& host = lab.hosts[port.host];
  if (host.of_fabric) return fmt::format("fabric.host.{}", key);
  return fmt::format("nodes.{}.nics[{}].ports.{}.{}", host.name, port.nic, host.nics[port.nic].ports[port.port].name,
                     key);
}

Live live_of(std::string_view key, bool at_switch) {
  const auto live = [&](const FieldInfo* field) {
    return field != nullptr && is_live(field->notes.live, at_switch) ? field->notes.live : Live::kNo;
  };
  if (const FieldInfo* field = find_field(kQosKeys, key)) return live(field);
  if (const FieldInfo* field = kPortKeys.find(key)) return live(field);
  const std::size_t dot = key.rfind('.');
  if (dot == key.npos) return Live::kNo;
  const FieldInfo* above = find_field(kQosKeys, key.substr(0, dot));
  // What is no key of a map that is live is for the reader to say.
  if (above == nullptr || (above->value.kind != FieldKind::kSection && above->notes.live != Live::kPriorityOfDscp))
    return Live::kNo;
  if (above->value.section == &kCongestionKeys) return at_switch ? Live::kNo : Live::kCongestion;
  return live(above);
}

std::vector<std::string> live_keys(bool at_switch) {
  std::vector<std::string> keys;
  add_keys(kQosKeys, "", at_switch, keys);
  add_keys(kPortKeys, "", at_switch, keys);
  return keys;
}

std::optional<std::pair<std::uint8_t, std::uint8_t>> dscps_of(std::string_view key) {
  constexpr std::string_view kMapPrefix = "dscp_to_priority.";
  if (!key.starts_with(kMapPrefix)) return std::nullopt;
  key.remove_prefix(kMapPrefix.size());
  const std::size_t dash = key.find('-');
  const auto first = parse_unsigned(key.substr(0, dash));
  const auto last = dash == key.npos ? first : parse_unsigned(key.substr(dash + 1));
  if (!first || !last || *first > *last || *last > 63) return std::nullopt;
  return std::pair(static_cast<std::uint8_t>(*first), static_cast<std::uint8_t>(*last));
}

}  // namespace weft::lab
