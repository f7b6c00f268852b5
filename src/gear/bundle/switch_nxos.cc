// Cisco NX-OS: the QoS of `show running-config`, and `show interface`, `show interface priority-flow-control`, `show
// queuing interface`, `show queuing pfc-queue … detail` (the watchdog) and `show lldp neighbors`. A qos-group is the
// traffic class, the queue c-out-8q-qN and the class c-8q-nqN of the same number.
#include <algorithm>

#include "gear/bundle/indented_config.h"
#include "gear/bundle/switch_readers.h"

namespace weft::gear {

namespace {

constexpr const char* kNxosEcn = "random-detect ecn";

// 3 of "c-out-8q-q3", 0 of "c-out-8q-q-default".
std::optional<std::uint32_t> class_number(std::string_view name) {
  if (name.ends_with("-default")) return 0;
  const std::size_t digits = name.find_last_not_of("0123456789");
  const auto number = digits == name.npos ? std::nullopt : leading_number(name.substr(digits + 1));
  return number && *number < 8 ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

// Eth1/1 and Ethernet1/1.
std::string port_name(std::string_view text) {
  if (text.starts_with("Eth") && !text.starts_with("Ethernet")) return "Ethernet" + std::string(text.substr(3));
  return std::string(text);
}

bool is_nxos_port(std::string_view name) {
  return name.starts_with("Ethernet") && name.find('.') == name.npos;
}

struct NxosPort {
  std::string qos_policy, queuing_policy;
  Maybe<bool> pfc_on;
};

class NxosReader {
 public:
  NxosReader(const Bundle& bundle, SwitchState& state) : bundle_(bundle), state_(state) {}

  void read() {
    for (const BundleSection& section : bundle_.sections) {
      if (!section.command.starts_with("show running-config")) continue;
      state_.has_config = true;
      visit_config(bundle_, section, [&](const ConfigLine& line) { read_line(line); });
    }
    finish();
    for (const BundleSection& section : bundle_.sections) {
      const std::string_view command = section.command;
      if (command == "show interface priority-flow-control") read_pfc(section);
      if (command == "show interface") read_interfaces(section);
      if (command.starts_with("show queuing pfc-queue")) {
        read_watchdog(section);
      } else if (command.starts_with("show queuing interface")) {
        read_queues(section);
      }
      if (command == "show lldp neighbors") read_lldp(section);
    }
  }

 private:
  void read_line(const ConfigLine& line) {
    if (auto name = line.after("hostname"); name && line.modes.empty()) state_.name = std::string(*name);
    if (auto map = line.mode_after(0, "class-map type qos")) {
      // match-any NAME
      const auto words = words_of(*map);
      if (auto list = line.after("match dscp"); list && !words.empty()) {
        for (std::string_view item : words_of(*list, ", ")) {
          const std::size_t dash = item.find('-');
          const auto first = dscp_number(item.substr(0, dash));
          const auto last = dash == item.npos ? first : dscp_number(item.substr(dash + 1));
          for (std::uint32_t dscp = first.value_or(1); first && last && dscp <= *last; ++dscp)
            class_dscps_[std::string(words.back())].push_back(dscp);
        }
      }
    } else if (auto policy = line.mode_after(0, "policy-map type qos")) {
      const std::string name(*policy);
      policies_.try_emplace(name, NamedMap{{}, line.from});
      const auto matched = line.mode_after(1, "class");
      const auto group = line.after("set qos-group");
      if (matched && group && leading_number(*group))
        classes_.push_back({name, std::string(*matched), static_cast<std::uint32_t>(*leading_number(*group) & 7)});
    } else if (auto queuing = line.mode_after(0, "policy-map type queuing")) {
      const auto queue = line.mode_after(1, "class type queuing");
      const auto number = queue ? class_number(*queue) : std::nullopt;
      if (number && line.text.starts_with("random-detect") && line.text.ends_with(" ecn"))
        ecn_[std::string(*queuing)].emplace(*number, line.from);
    } else if (auto network = line.mode_after(0, "policy-map type network-qos")) {
      if (auto cos = line.after("pause pfc-cos")) {
        for (std::uint32_t each : number_list(cos->substr(0, cos->find(" receive"))))
          if (each < 8) pause_[std::string(*network)].emplace(each, line.from);
      }
    } else if (line.mode_after(0, "system qos")) {
      if (auto name = line.after("service-policy type network-qos")) network_ = {std::string(*name), line.from};
      if (auto name = line.after("service-policy type queuing output")) queuing_ = std::string(*name);
      if (auto name = line.after("service-policy type qos input")) qos_ = std::string(*name);
    } else if (auto name = line.mode_after(0, "interface"); name && is_nxos_port(*name)) {
      if (SwitchPort* port = state_.port(std::string(*name))) read_port_line(line, *port, ports_[port->name]);
    }
  }

  static void read_port_line(const ConfigLine& line, SwitchPort& port, NxosPort& own) {
    if (auto text = line.after("description")) set_neighbour(port, *text);
    if (auto mtu = line.after("mtu"); mtu && leading_number(*mtu)) port.mtu = {*leading_number(*mtu), line.from};
    if (auto speed = line.after("speed"); speed && leading_number(*speed))
      port.speed_Mbps = {*leading_number(*speed), line.from};
    if (line.text == "shutdown" || line.text == "no shutdown")
      port.admin = {line.text == "shutdown" ? "down" : "up", line.from};
    if (auto fec = line.after("fec")) {
      const std::string_view name = *fec;
      port.fec = {name == "rs-fec" || name == "rs-ieee" ? "rs"
                  : name == "fc-fec"                    ? "fc"
                                                        : std::string(name),
                  line.from};
    }
    if (auto mode = line.after("priority-flow-control mode"); mode && *mode != "auto")
      own.pfc_on = {mode->starts_with("on"), line.from};
    if (auto policy = line.after("service-policy type qos input")) own.qos_policy = first_word(*policy);
    if (auto policy = line.after("service-policy type queuing output")) own.queuing_policy = first_word(*policy);
  }

  static std::string first_word(std::string_view text) { return std::string(text.substr(0, text.find(' '))); }

  void finish() {
    for (const auto& [policy, matched, group] : classes_) {
      NumberMap& map = policies_[policy].map;
      if (matched == "class-default") {
        for (std::uint32_t dscp = 0; dscp < 64; ++dscp) map.emplace(dscp, group);
        continue;
      }
      for (std::uint32_t dscp : class_dscps_[matched]) map[dscp] = group;
    }
    for (auto& [name, map] : policies_) {
      for (std::uint32_t dscp = 0; dscp < 64; ++dscp) map.map.emplace(dscp, 0);  // what no class matches
      state_.dscp_to_tc[name] = map;
    }
    std::uint8_t pause_mask = 0;
    for (const auto& [cos, from] : pause_[network_.value])
      pause_mask = static_cast<std::uint8_t>(pause_mask | 1 << cos);
    for (auto& [name, own] : ports_) {
      SwitchPort& port = state_.ports[name];
      const std::string policy = own.qos_policy.empty() ? qos_ : own.qos_policy;
      if (const auto map = policies_.find(policy); map != policies_.end()) port.dscp_map = {policy, map->second.from};
      if (own.pfc_on) port.pfc = {own.pfc_on->value ? pause_mask : std::uint8_t{0}, own.pfc_on->from};
      for (const auto& [queue, from] : ecn_[own.queuing_policy.empty() ? queuing_ : own.queuing_policy])
        port.queue_wred[queue] = {kNxosEcn, from};
    }
    state_.wred_marks[kNxosEcn] = {true, network_.from};
  }

  // Ethernet1/2        Auto On   (8)       4088353    1890
  void read_pfc(const BundleSection& section) {
    for (std::size_t i = 0; i < section.lines.size(); ++i) {
      const auto words = words_of(section.lines[i], " \t()");
      if (words.size() < 3 || !is_nxos_port(words[0])) continue;
      SwitchPort* port = state_.port(std::string(words[0]));
      if (port == nullptr) continue;
      const bool on = words[2] == "On";
      const auto mask = on && words.size() > 3 ? leading_hex(words[3]) : std::nullopt;
      if (!on) port->pfc = {std::uint8_t{0}, bundle_.at(section, i)};
      if (on && mask && *mask > 0 && *mask < 256)
        port->pfc = {static_cast<std::uint8_t>(*mask), bundle_.at(section, i)};
    }
  }

  void read_interfaces(const BundleSection& section) {
    SwitchPort* port = nullptr;
    for (std::size_t i = 0; i < section.lines.size(); ++i) {
      const std::string_view line = section.lines[i];
      const Evidence from = bundle_.at(section, i);
      const bool is_admin = line.starts_with("admin state is");
      if (!is_admin && !line.empty() && line.front() != ' ' && line.front() != '\t' && line.find(" is ") != line.npos) {
        const std::string name(line.substr(0, line.find(' ')));
        port = is_nxos_port(name) ? state_.port(name) : nullptr;
        if (port != nullptr) port->oper = {line.find(" is up") != line.npos ? "up" : "down", from};
        if (port != nullptr && line.find("Administratively down") != line.npos) port->admin = {"down", from};
        continue;
      }
      if (port == nullptr) continue;
      if (auto admin = value_after(line, "admin state is"))
        port->admin = {admin->starts_with("up") ? "up" : "down", from};
      if (auto text = value_after(line, "Description:"); text && port->neighbour_host.empty())
        set_neighbour(*port, *text);
      if (auto mtu = value_after(line, "MTU"); mtu && leading_number(*mtu)) port->mtu = {*leading_number(*mtu), from};
      // "full-duplex, 25 Gb/s, media type is 25G"
      if (const std::size_t unit = line.find(" Gb/s"); unit != line.npos && line.find("duplex") < unit) {
        const std::size_t begin = line.find_last_not_of("0123456789", unit - 1);
        const auto rate =
            begin == line.npos || begin + 1 >= unit ? std::nullopt : leading_number(line.substr(begin + 1));
        if (rate && *rate < 10'000) port->speed_Mbps = {*rate * 1000, from};
      }
      if (const std::size_t crc = line.find(" CRC"); crc != line.npos && line.find("giants") < crc) {
        const std::size_t begin = line.find_last_of(' ', crc - 1);
        if (const auto errors = begin == line.npos ? std::nullopt : leading_number(line.substr(begin)))
          port->rx_errors = {*errors, from};
      }
    }
  }

  // The first number between bars: "|  WRED/AFD & Tail Drop Pkts |  12|  0|".
  static std::optional<std::uint64_t> cell_number(std::string_view line) {
    const auto cells = words_of(line, "|");
    return cells.size() < 2 ? std::nullopt : leading_number(cells[1]);
  }
  static std::optional<std::uint32_t> group_heading(std::string_view line) {
    const std::size_t at = line.find("QOS GROUP");
    const auto number = at == line.npos ? std::nullopt : leading_number(line.substr(at + 9));
    return number && *number < 8 ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
  }

  void read_queues(const BundleSection& section) {
    SwitchPort* port = nullptr;
    std::optional<std::uint32_t> group;
    for (std::size_t i = 0; i < section.lines.size(); ++i) {
      const std::string_view line = section.lines[i];
      if (auto name = value_after(line, "Egress Queuing for")) {
        port = state_.port(std::string(name->substr(0, name->find_first_of(" ["))));
        group.reset();
      }
      if (value_after(line, "Ingress Queuing for")) port = nullptr;
      if (const auto number = group_heading(line)) group = number;
      if (port == nullptr || !group || line.find("Drop") == line.npos || line.find("Pkts") == line.npos) continue;
      const auto drops = cell_number(line);
      if (drops && *drops >= port->group_drops[*group].value)
        port->group_drops[*group] = {*drops, bundle_.at(section, i)};
    }
  }

  void read_watchdog(const BundleSection& section) {
    SwitchPort* port = nullptr;
    std::optional<std::uint32_t> group;
    for (std::size_t i = 0; i < section.lines.size(); ++i) {
      const std::string_view line = section.lines[i];
      if (const std::size_t at = line.find(" Interface PFC watchdog"); at != line.npos) {
        port = state_.port(port_name(trimmed(line.substr(0, at))));
        group.reset();
      }
      if (const auto number = group_heading(line)) group = number;
      const auto cells = words_of(line, "|");
      if (port == nullptr || !group || cells.size() < 2 || trimmed(cells[0]) != "Shutdown") continue;
      const auto count = leading_number(cells[1]);
      const auto after = i + 1 < section.lines.size() ? cell_number(section.lines[i + 1]) : std::nullopt;
      if (count && *count > 0)
        port->storms[*group] = {std::to_string(*count) + "/" + std::to_string(after.value_or(0)),
                                bundle_.at(section, i)};
    }
  }

  // Device ID            Local Intf      Hold-time  Capability  Port ID
  void read_lldp(const BundleSection& section) {
    for (const std::string& line : section.lines) {
      const auto words = words_of(line);
      if (words.size() < 4 || !is_nxos_port(port_name(words[1])) || !leading_number(words[2])) continue;
      if (SwitchPort* port = state_.port(port_name(words[1]))) {
        port->neighbour_host = std::string(words[0]);
        port->neighbour_port = std::string(words.back());
      }
    }
  }

  struct ClassGroup {
    std::string policy, matched;
    std::uint32_t group;
  };
  const Bundle& bundle_;
  SwitchState& state_;
  std::map<std::string, std::vector<std::uint32_t>> class_dscps_;
  std::map<std::string, NamedMap> policies_;
  std::vector<ClassGroup> classes_;
  std::map<std::string, std::map<std::uint32_t, Evidence>> ecn_, pause_;
  Seen<std::string> network_;
  std::string queuing_, qos_;
  std::map<std::string, NxosPort> ports_;
};

}  // namespace

void read_nxos(const Bundle& bundle, SwitchState& state) {
  NxosReader(bundle, state).read();
}

}  // namespace weft::gear
