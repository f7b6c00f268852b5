// NVIDIA Cumulus Linux: `nv config show -o commands` (lines of `nv set`), `nv show interface -o json`, `nv show
// interface PORT counters qos`, `nv show interface PORT qos pfc-watchdog`, `ethtool -S PORT`, `lldpcli show neighbors`.
// `qos roce`, by the user guide ("RDMA over Converged Ethernet"): trust of PCP and DSCP, PFC on
// switch priority 3, traffic classes 3 and 6 of those priorities and 0 of the others, ECN on traffic classes 0 and 3.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "gear/bundle/json_text.h"
#include "gear/bundle/switch_readers.h"

namespace weft::gear {

namespace {

using NvueJson = nlohmann::json;
constexpr const char* kGlobal = "default-global";

bool is_enabled(std::string_view word) {
  return word == "enable" || word == "enabled" || word == "on" || word == "yes";
}

// "swp1-4,swp6" as names of ports.
std::vector<std::string> nvue_ports(std::string_view text) {
  std::vector<std::string> names;
  for (std::string_view item : words_of(text, ",")) {
    if (!item.starts_with("swp")) continue;
    const std::size_t dash = item.find('-');
    const auto first = leading_number(item.substr(3));
    auto last = dash == item.npos ? first : leading_number(item.substr(dash + 1));
    if (dash != item.npos && item.substr(dash + 1).starts_with("swp")) last = leading_number(item.substr(dash + 4));
    if (dash == item.npos || !first || !last || *last < *first || *last - *first > 1024) {
      names.emplace_back(item);  // swp1s0 and the like
      continue;
    }
    for (std::uint64_t number = *first; number <= *last; ++number) names.push_back("swp" + std::to_string(number));
  }
  return names;
}

struct NvuePfc {
  std::uint8_t mask = 0;
  bool tx = true, rx = true;
  Evidence from;
};
struct NvueMapping {
  Maybe<std::string> trust;
  NamedMap map;
};

class CumulusReader {
 public:
  CumulusReader(const Bundle& bundle, SwitchState& state) : bundle_(bundle), state_(state) {}

  void read() {
    for (const BundleSection& section : bundle_.sections) {
      if (section.command != "nv config show -o commands") continue;
      state_.has_config = true;
      for (std::size_t i = 0; i < section.lines.size(); ++i) {
        const auto words = words_of(section.lines[i]);
        if (words.size() > 2 && words[0] == "nv" && words[1] == "set")
          set({words.begin() + 2, words.end()}, bundle_.at(section, i));
      }
    }
    for (const BundleSection& section : bundle_.sections) {
      const auto words = words_of(section.command);
      if (section.command == "nv show interface -o json") read_interfaces(section);
      if (words.size() >= 4 && section.command.starts_with("nv show interface swp"))
        read_port_tables(section, words[3]);
      if (words.size() == 3 && words[0] == "ethtool" && words[1] == "-S" && words[2].starts_with("swp"))
        read_port_counters(section, words[2]);
    }
    finish();
  }

 private:
  using Words = std::vector<std::string_view>;

  // The words behind `nv set`.
  void set(const Words& words, const Evidence& from) {
    const auto is = [&](std::size_t i, std::string_view word) { return i < words.size() && words[i] == word; };
    const std::string_view last = words.back();
    if (is(0, "system") && is(1, "hostname")) state_.name = std::string(last);
    if (is(0, "qos") && is(1, "roce")) {
      if (!is(2, "enable") && !is(2, "state"))
        roce_ = Seen<std::string>{is(2, "mode") ? std::string(last) : "lossless", from};
      if ((is(2, "enable") || is(2, "state")) && is_enabled(last) && !roce_)
        roce_ = Seen<std::string>{"lossless", from};
    }
    if (is(0, "qos") && words.size() >= 5) set_qos(words, from);
    if (is(0, "interface") && words.size() >= 4) set_interface(words, from);
  }

  void set_qos(const Words& words, const Evidence& from) {
    const std::string profile(words[2]);
    const std::string_view last = words.back();
    const auto number = leading_number(last);
    const bool small = number && *number < 8;
    if (words[1] == "mapping") {
      NvueMapping& mapping = mappings_[profile];
      if (words[3] == "trust") mapping.trust = {std::string(last), from};
      if (words[3] == "dscp" && words.size() == 7 && words[5] == "switch-priority" && small) {
        for (std::uint32_t dscp : number_list(words[4])) {
          if (dscp < 64) mapping.map.map[dscp] = static_cast<std::uint32_t>(*number);
        }
        mapping.map.from = from;
      }
    } else if (words[1] == "egress-queue-mapping" && words.size() == 7 && words[5] == "traffic-class" && small) {
      for (std::uint32_t priority : number_list(words[4])) {
        if (priority < 8) queues_.map[priority] = static_cast<std::uint32_t>(*number);
      }
      queues_.from = from;
    } else if (words[1] == "congestion-control" && words.size() == 7 && words[5] == "ecn") {
      for (std::uint32_t tc : number_list(words[4])) {
        if (tc < 8 && is_enabled(last)) ecn_[profile].insert_or_assign(tc, from);
      }
    } else if (words[1] == "pfc") {
      NvuePfc& pfc = pfcs_[profile];
      if (words[3] == "switch-priority") {
        pfc.from = from;
        for (std::uint32_t priority : number_list(words[4])) {
          if (priority < 8) pfc.mask = static_cast<std::uint8_t>(pfc.mask | 1 << priority);
        }
      }
      if (words[3] == "tx") pfc.tx = is_enabled(last);
      if (words[3] == "rx") pfc.rx = is_enabled(last);
    }
  }

  void set_interface(const Words& words, const Evidence& from) {
    const std::string_view last = words.back();
    for (const std::string& name : nvue_ports(words[1])) {
      SwitchPort* port = state_.port(name);
      if (port == nullptr) continue;
      const auto number = leading_number(last);
      if (words[2] == "description") set_neighbour(*port, last);
      if (words[2] == "link" && words[3] == "mtu" && number) port->mtu = {*number, from};
      if (words[2] == "link" && words[3] == "speed" && number && *number < 10'000)
        port->speed_Mbps = {*number * 1000, from};
      if (words[2] == "link" && words[3] == "fec") port->fec = {fec_of(last), from};
      if (words[2] == "link" && words[3] == "state") port->admin = {std::string(last), from};
      if (words[2] == "qos" && words.size() == 6 && words[4] == "profile")
        profiles_[name][std::string(words[3])] = std::string(last);
    }
  }

  static std::string fec_of(std::string_view word) {
    if (word == "baser" || word == "base-r") return "fc";
    return word == "off" ? "none" : std::string(word);
  }

  const std::string& profile_of(const std::string& port, const char* kind) {
    std::string& name = profiles_[port][kind];
    if (name.empty()) name = kGlobal;
    return name;
  }

  void finish() {
    if (roce_) {
      NvueMapping& mapping = mappings_[kGlobal];
      if (!mapping.trust) mapping.trust = {"both", roce_->from};
      if (roce_->value == "lossless") {
        NvuePfc& pfc = pfcs_[kGlobal];
        if (pfc.mask == 0) pfc = {1 << 3, true, true, roce_->from};
      }
      for (std::uint32_t tc : {0u, 3u}) ecn_[kGlobal].emplace(tc, roce_->from);
      for (std::uint32_t priority = 0; priority < 8; ++priority)
        queues_.map.emplace(priority, priority == 3 || priority == 6 ? priority : 0);
      if (queues_.from.file.empty()) queues_.from = roce_->from;
    }
    for (std::uint32_t priority = 0; priority < 8; ++priority) queues_.map.emplace(priority, priority);
    state_.tc_to_queue[kGlobal] = queues_;
    for (auto& [name, mapping] : mappings_) {
      for (std::uint32_t dscp = 0; dscp < 64; ++dscp) mapping.map.map.emplace(dscp, dscp / 8);
      if (mapping.map.from.file.empty() && mapping.trust) mapping.map.from = mapping.trust->from;
      const bool trusts = mapping.trust && mapping.trust->value != "l2" && mapping.trust->value != "port";
      if (trusts) state_.dscp_to_tc[name] = mapping.map;
    }
    for (auto& [name, port] : state_.ports) {
      const std::string& mapping = profile_of(name, "mapping");
      if (const auto known = state_.dscp_to_tc.find(mapping); known != state_.dscp_to_tc.end())
        port.dscp_map = {mapping, known->second.from};
      port.queue_map = {kGlobal, queues_.from};
      if (const auto pfc = pfcs_.find(profile_of(name, "pfc")); pfc != pfcs_.end())
        port.pfc = {pfc->second.tx && pfc->second.rx ? pfc->second.mask : std::uint8_t{0}, pfc->second.from};
      for (const auto& [tc, from] : ecn_[profile_of(name, "congestion-control")]) port.queue_wred[tc] = {"ecn", from};
    }
    state_.wred_marks["ecn"] = {true, {}};
  }

  void read_interfaces(const BundleSection& section) {
    std::string text;
    for (const std::string& line : section.lines) text += line + "\n";
    const NvueJson json = NvueJson::parse(text, nullptr, false);
    if (!json.is_object()) return;
    const JsonText places(text, bundle_.file, section.command, section.line);
    for (const auto& [name, object] : json.items()) {
      if (!name.starts_with("swp") || !object.is_object() || !object.contains("link") || !object["link"].is_object())
        continue;
      SwitchPort* port = state_.port(name);
      if (port == nullptr) continue;
      const NvueJson& link = object["link"];
      const auto text_of = [&](const char* key) {
        const auto it = link.find(key);
        return it != link.end() && it->is_string() ? it->get<std::string>() : std::string();
      };
      const auto at = [&, &port_name = name](const char* key) { return places.at({port_name, "link", key}); };
      if (const auto mtu = link.find("mtu"); mtu != link.end() && mtu->is_number_unsigned())
        port->mtu = {mtu->get<std::uint64_t>(), at("mtu")};
      if (const auto speed = leading_number(text_of("speed"));
          speed && *speed < 10'000 && text_of("speed").ends_with("G"))
        port->speed_Mbps = {*speed * 1000, at("speed")};
      if (const std::string fec = text_of("fec"); !fec.empty()) port->fec = {fec_of(fec), at("fec")};
      if (const std::string admin = text_of("admin-status"); !admin.empty()) port->admin = {admin, at("admin-status")};
      if (const std::string oper = text_of("oper-status"); !oper.empty()) port->oper = {oper, at("oper-status")};
      if (const auto state = link.find("state"); state != link.end() && state->is_object())
        port->oper = {state->contains("up") ? "up" : "down", at("state")};
    }
  }

  void read_port_tables(const BundleSection& section, std::string_view name) {
    SwitchPort* port = state_.port(std::string(name));
    if (port == nullptr) return;
    for (const TableRow& row : table_rows(section)) {
      const auto number = leading_number(row.first);
      if (!number || *number > 7) continue;
      const auto index = static_cast<std::uint32_t>(*number);
      const Evidence from = bundle_.at(section, row.line);
      for (const char* column : {"rx-buffer-discards", "rx-shared-buffer-discards", "wred-discards"}) {
        const auto drops = leading_number(row.cell(column));
        if (drops && *drops > port->group_drops[index].value) port->group_drops[index] = {*drops, from};
      }
      if (const auto storms = leading_number(row.cell("deadlock-count")); storms && *storms > 0)
        port->storms[index] = {std::string(row.cell("deadlock-count")), from};
    }
  }

  void read_port_counters(const BundleSection& section, std::string_view name) {
    SwitchPort* port = state_.port(std::string(name));
    for (std::size_t i = 0; port != nullptr && i < section.lines.size(); ++i) {
      for (const char* counter : {"HwIfInErrors:", "HwIfInDot3FrameErrors:"}) {
        const auto value = value_after(section.lines[i], counter);
        const auto errors = value ? leading_number(*value) : std::nullopt;
        if (errors && (!port->rx_errors || *errors > port->rx_errors->value))
          port->rx_errors = {*errors, bundle_.at(section, i)};
      }
    }
  }

  const Bundle& bundle_;
  SwitchState& state_;
  Maybe<std::string> roce_;
  NamedMap queues_;
  std::map<std::string, NvueMapping> mappings_;
  std::map<std::string, NvuePfc> pfcs_;
  std::map<std::string, std::map<std::uint32_t, Evidence>> ecn_;
  std::map<std::string, std::map<std::string, std::string>> profiles_;  // port -> kind -> profile
};

}  // namespace

void read_cumulus(const Bundle& bundle, SwitchState& state) {
  CumulusReader(bundle, state).read();
}

}  // namespace weft::gear
