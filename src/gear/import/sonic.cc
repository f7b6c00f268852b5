#include "gear/import/sonic.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "gear/import/ports.h"
#include "gear/import/sonic_values.h"
#include "model/qos_words.h"
#include "text/units.h"

namespace weft::gear {
namespace {

using fabric::kClasses;
using ConfigJson = nlohmann::json;

constexpr std::int64_t kMostMilliseconds = 1'000'000'000;
constexpr std::int64_t kMostSpeed_Mbps = 10'000'000;
constexpr std::size_t kMostPorts = 1024;
constexpr std::size_t kMostProblems = 50, kMostNotes = 10'000;

std::string scalar_text(const ConfigJson& value) {
  return value.is_string() ? value.get<std::string>() : value.is_number() ? value.dump() : "";
}

class SonicReader {
 public:
  explicit SonicReader(std::string_view text) : text_(text) {}

  tl::expected<ImportedContract, std::vector<lab::Problem>> read() {
    try {
      json_ = ConfigJson::parse(text_);
    } catch (const ConfigJson::exception& error) {
      const auto* parse = dynamic_cast<const ConfigJson::parse_error*>(&error);
      problems_.add(place_of_byte(text_, parse == nullptr ? 0 : parse->byte), "this is not JSON",
                    "save it with `show runningconfiguration all`");
      return tl::unexpected(problems_.take());
    }
    if (!json_.is_object()) {
      problems_.add({1, 1, -1}, "config_db.json is an object of tables",
                    "save it with `show runningconfiguration all`");
      return tl::unexpected(problems_.take());
    }
    read_metadata();
    read_ports();
    read_pools();
    read_queues();
    read_groups();
    read_watchdog();
    if (contract().ports.empty()) problem("PORT_QOS_MAP", "no port of this file has a QoS map");
    if (!problems_.empty()) return tl::unexpected(problems_.take());
    merge_ports(contract(), ports_);
    return std::move(made_);
  }

 private:
  Contract& contract() { return made_.contract; }

  // The place of the first mention of a word: JSON values keep none.
  void problem(std::string_view word, std::string message) {
    if (problems_.size() >= kMostProblems || !said_.insert(message).second) return;
    const std::size_t at = text_.find(fmt::format("\"{}\"", word));
    problems_.add(place_of_byte(text_, at == text_.npos ? 0 : at + 1), std::move(message), "");
  }
  void note(std::string message) {
    if (made_.notes.size() < kMostNotes && noted_.insert(message).second) made_.notes.push_back(std::move(message));
  }

  const ConfigJson& table(const char* name) const {
    static const ConfigJson kEmpty = ConfigJson::object();
    const auto found = json_.find(name);
    return found == json_.end() || !found->is_object() ? kEmpty : *found;
  }
  static std::string text_of(const ConfigJson& entry, const char* key) {
    if (!entry.is_object()) return "";
    const auto found = entry.find(key);
    if (found == entry.end()) return "";
    if (found->is_string()) return strip(found->get<std::string>());
    return found->is_number() ? found->dump() : "";
  }
  // "[WRED_PROFILE|X]" of images before 2022.
  static std::string strip(std::string value) {
    if (!value.starts_with('[') || !value.ends_with(']')) return value;
    value = value.substr(1, value.size() - 2);
    const std::size_t bar = value.find('|');
    return bar == value.npos ? value : value.substr(bar + 1);
  }
  std::int64_t number_of(const char* name, const std::string& key, const ConfigJson& entry, const char* field,
                         std::int64_t otherwise = 0, std::int64_t least = 0, std::int64_t most = kMostValue) {
    const std::string text = text_of(entry, field);
    if (text.empty()) return otherwise;
    const auto value = read_integer(text);
    if (value && *value >= least && *value <= most) return *value;
    const std::string wrong = value ? fmt::format("out of range, {} to {}", least, most) : "not a number";
    problem(key, fmt::format("{}|{}: {} {} is {}", name, key, field, lab::in_quotes(text), wrong));
    return otherwise;
  }
  std::int64_t milliseconds_of(const std::string& key, const ConfigJson& entry, const char* field,
                               std::int64_t otherwise) {
    return number_of("PFC_WD", key, entry, field, otherwise, 0, kMostMilliseconds) * kMillisecond_ps;
  }

  void read_metadata() {
    const ConfigJson& all = table("DEVICE_METADATA");
    if (!all.contains("localhost")) return;
    contract().node = text_of(all["localhost"], "hostname");
    contract().model.sonic_platform = text_of(all["localhost"], "platform");
    if (text_of(all["localhost"], "buffer_model") == "dynamic")
      note("buffer_model dynamic: the switch sizes headroom itself");
  }

  void read_ports() {
    const ConfigJson& ports = table("PORT");
    for (const auto& [name, entry] : table("PORT_QOS_MAP").items()) {
      if (name == "global") continue;
      if (contract().ports.size() == kMostPorts) {
        problem(name, fmt::format("more than {} ports", kMostPorts));
        break;
      }
      ContractPort port;
      port.sonic_name = port.name = name;
      if (ports.contains(name)) {
        const ConfigJson& config = ports[name];
        port.rate_bps = number_of("PORT", name, config, "speed", 0, 0, kMostSpeed_Mbps) * 1'000'000;
        port.mtu_B = number_of("PORT", name, config, "mtu", 9100, 68, 65535);
        const std::string fec = text_of(config, "fec");
        const bool pam4 = port.rate_bps >= 200'000'000'000 || port.rate_bps == 50'000'000'000;
        port.fec = fec == "fc"   ? lab::Fec::kBaseR
                   : fec != "rs" ? lab::Fec::kNone
                   : pam4        ? lab::Fec::kRs544
                                 : lab::Fec::kRs528;
        port.peer = text_of(config, "description");
        port.up = text_of(config, "admin_status") == "up";  // without one it is down
      } else {
        problem(name, fmt::format("PORT_QOS_MAP|{}: there is no such port in PORT", name));
      }
      for (const auto& [cables, lengths] : table("CABLE_LENGTH").items()) {
        std::string length = text_of(lengths, name.c_str());
        if (length.ends_with('m')) length.pop_back();
        if (const auto metres = read_integer(length)) port.length_mm = *metres * 1000;
      }
      contract().ports.push_back(std::move(port));
    }
    // Ethernet4 before Ethernet12.
    std::sort(contract().ports.begin(), contract().ports.end(), [](const ContractPort& a, const ContractPort& b) {
      return std::pair(a.name.size(), a.name) < std::pair(b.name.size(), b.name);
    });
    ports_.resize(contract().ports.size());
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const std::string& name = contract().ports[i].name;
      index_of_[name] = i;
      read_maps(ports_[i], table("PORT_QOS_MAP")[name]);
    }
  }

  template <class Store>
  void read_map(const char* name, const std::string& map, std::uint64_t keys, Store store) {
    if (map.empty()) return;
    const ConfigJson& all = table(name);
    if (!all.contains(map) || !all[map].is_object()) {
      problem(map, fmt::format("{} has no map {}", name, map));
      return;
    }
    if (all[map].size() > kMostPorts) {
      problem(map, fmt::format("{}|{}: more than {} entries", name, map, kMostPorts));
      return;
    }
    for (const auto& [key, value] : all[map].items()) {
      const auto from = lab::parse_unsigned(key);
      const auto to = lab::parse_unsigned(scalar_text(value));
      if (!from || !to || *from >= keys || *to >= kClasses) {
        problem(key, fmt::format("{}|{}: {} to {} is out of range", name, map, lab::in_quotes(key), value.dump()));
        continue;
      }
      store(static_cast<std::size_t>(*from), static_cast<std::uint8_t>(*to));
    }
  }

  void read_maps(ImportedPort& port, const ConfigJson& entry) {
    fabric::SwitchQos& qos = port.qos;
    qos.queue_of_priority.fill(0);
    qos.group_of_priority.fill(0);
    const std::string dscp_map = text_of(entry, "dscp_to_tc_map"), pcp_map = text_of(entry, "dot1p_to_tc_map");
    qos.trust = dscp_map.empty() && !pcp_map.empty() ? fabric::Trust::kPcp : fabric::Trust::kDscp;
    port.trusts = !dscp_map.empty() || !pcp_map.empty();
    read_map("DSCP_TO_TC_MAP", dscp_map, 64, [&](auto from, auto to) { qos.priority_of_dscp[from] = to; });
    read_map("DOT1P_TO_TC_MAP", pcp_map, kClasses, [&](auto from, auto to) {
      if (from != to)
        note(
            fmt::format("DOT1P_TO_TC_MAP|{}: PCP {} is traffic class {}; a lab's switch takes the PCP for the priority",
                        pcp_map, from, to));
    });
    if (!dscp_map.empty() && !pcp_map.empty())
      note(fmt::format("dot1p_to_tc_map {} beside dscp_to_tc_map {}: packets with a DSCP are sorted by it", pcp_map,
                       dscp_map));
    read_map("TC_TO_QUEUE_MAP", text_of(entry, "tc_to_queue_map"), kClasses,
             [&](auto from, auto to) { qos.queue_of_priority[from] = to; });
    read_map("TC_TO_PRIORITY_GROUP_MAP", text_of(entry, "tc_to_pg_map"), kClasses,
             [&](auto from, auto to) { qos.group_of_priority[from] = to; });
    read_map("MAP_PFC_PRIORITY_TO_QUEUE", text_of(entry, "pfc_to_queue_map"), kClasses,
             [&](auto from, auto to) { qos.queue_of_pause[from] = to; });
    qos.pfc_receive_mask = read_mask(entry, "pfc_enable");
    port.watched_mask = read_mask(entry, "pfcwd_sw_enable");
    for (std::uint8_t priority = 0; priority < kClasses; ++priority) {
      if ((qos.pfc_receive_mask >> priority & 1) != 0) qos.pause_of_group[qos.group_of_priority[priority]] = priority;
    }
    // Which group's fill level sends which priority's pause, where the switch is told so.
    read_map("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", text_of(entry, "pfc_to_pg_map"), kClasses, [&](auto from, auto to) {
      if ((qos.pfc_receive_mask >> from & 1) == 0) return;
      qos.pause_of_group[to] = static_cast<std::uint8_t>(from);
      if (qos.group_of_priority[from] != to)
        note(fmt::format("pfc_to_pg_map: group {} pauses priority {}, whose packets are in group {}", to, from,
                         qos.group_of_priority[from]));
    });
    if (qos.pfc_receive_mask != 0) qos.flow_control = fabric::FlowControl::kPfc;
  }

  // "3,4": priorities.
  std::uint8_t read_mask(const ConfigJson& entry, const char* field) {
    const std::string list = text_of(entry, field);
    std::uint8_t mask = 0;
    std::string_view rest = list;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const auto priority = lab::parse_unsigned(rest.substr(0, comma));
      if (priority && *priority < kClasses) {
        mask |= static_cast<std::uint8_t>(1U << *priority);
      } else {
        problem(field, fmt::format("{} {} is not a list of priorities", field, lab::in_quotes(list)));
      }
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return mask;
  }

  void read_pools() {
    const ConfigJson& all = table("BUFFER_POOL");
    fabric::SwitchQos& qos = contract().qos;
    if (all.contains("ingress_lossless_pool")) {
      qos.ingress_pool_B = number_of("BUFFER_POOL", "ingress_lossless_pool", all["ingress_lossless_pool"], "size");
      qos.headroom_pool_B = number_of("BUFFER_POOL", "ingress_lossless_pool", all["ingress_lossless_pool"], "xoff");
    }
    if (all.contains("egress_lossy_pool"))
      qos.egress_pool_B = number_of("BUFFER_POOL", "egress_lossy_pool", all["egress_lossy_pool"], "size");
  }

  // Entries of a table whose keys are "Ethernet0,Ethernet4|3-4": calls `take` for each port of the contract and class.
  template <class Take>
  void each_class(const char* name, Take take) {
    for (const auto& [key, entry] : table(name).items()) {
      const std::size_t bar = key.rfind('|');
      const auto classes =
          bar == key.npos ? std::vector<std::uint8_t>{} : read_classes(std::string_view(key).substr(bar + 1));
      if (classes.empty()) {
        problem(key, fmt::format("{}: {} is not PORT|CLASS", name, lab::in_quotes(key)));
        continue;
      }
      std::string_view ports = std::string_view(key).substr(0, bar);
      while (!ports.empty()) {
        const std::size_t comma = std::min(ports.find(','), ports.size());
        const std::string_view one = ports.substr(0, comma);
        if (const auto found = index_of_.find(one); found != index_of_.end()) {
          for (std::uint8_t number : classes) take(found->second, number, entry, key);
        }
        ports.remove_prefix(std::min(comma + 1, ports.size()));
      }
    }
  }

  const ConfigJson* profile(const char* name, const std::string& profile_name, const std::string& key) {
    const ConfigJson& all = table(name);
    if (all.contains(profile_name) && all[profile_name].is_object()) return &all[profile_name];
    problem(key, fmt::format("{}: there is no {} {}", key, name, lab::in_quotes(profile_name)));
    return nullptr;
  }

  void read_queues() {
    each_class("QUEUE", [&](std::size_t port, std::uint8_t q, const ConfigJson& entry, const std::string& key) {
      fabric::QueueConfig& queue = ports_[port].qos.queues[q];
      if (const std::string name = text_of(entry, "scheduler"); !name.empty()) {
        if (const ConfigJson* found = profile("SCHEDULER", name, key)) {
          queue.scheduling =
              text_of(*found, "type") == "STRICT" ? fabric::Scheduling::kStrict : fabric::Scheduling::kDwrr;
          queue.weight = static_cast<std::uint32_t>(number_of("SCHEDULER", name, *found, "weight", 1, 1, 100));
        }
      }
      const std::string name = text_of(entry, "wred_profile");
      if (name.empty()) return;
      const ConfigJson* found = profile("WRED_PROFILE", name, key);
      if (found == nullptr) return;
      for (std::string& each :
           colour_notes(name, [&](const std::string& field) { return text_of(*found, field.c_str()); }))
        note(std::move(each));
      if (const std::string ecn = text_of(*found, "ecn"); !marks_green(ecn)) {
        note(ecn.empty() || ecn == "ecn_none"
                 ? fmt::format("WRED_PROFILE|{} has no ecn: it drops what it should mark", name)
                 : fmt::format("WRED_PROFILE|{}: {} does not mark green packets, which RoCE's are", name, ecn));
        return;
      }
      queue.ecn.enabled = true;
      queue.ecn.min_B = number_of("WRED_PROFILE", name, *found, "green_min_threshold");
      queue.ecn.max_B = number_of("WRED_PROFILE", name, *found, "green_max_threshold");
      queue.ecn.probability_ppb = static_cast<std::uint32_t>(
          number_of("WRED_PROFILE", name, *found, "green_drop_probability", 100, 0, 400) * 10'000'000);
      if (queue.ecn.probability_ppb > 1'000'000'000)
        note(fmt::format("WRED_PROFILE|{}: green_drop_probability is above 100 %", name));
    });
    each_class("BUFFER_QUEUE", [&](std::size_t port, std::uint8_t q, const ConfigJson& entry, const std::string& key) {
      const ConfigJson* found = profile("BUFFER_PROFILE", text_of(entry, "profile"), key);
      if (found == nullptr) return;
      fabric::QueueConfig& queue = ports_[port].qos.queues[q];
      queue.lossless = text_of(*found, "pool").find("lossless") != std::string::npos;
      queue.reserved_B = number_of("BUFFER_PROFILE", key, *found, "size");
      queue.alpha_exponent = static_cast<std::int8_t>(number_of("BUFFER_PROFILE", key, *found, "dynamic_th", 3, -8, 8));
    });
  }

  void read_groups() {
    const bool own_headroom = contract().qos.headroom_pool_B == 0;
    each_class("BUFFER_PG", [&](std::size_t port, std::uint8_t g, const ConfigJson& entry, const std::string& key) {
      if (const std::string name = text_of(entry, "profile"); name == "NULL") {
        note("BUFFER_PG with profile NULL: the switch sizes headroom itself");
        return;
      }
      const ConfigJson* found = profile("BUFFER_PROFILE", text_of(entry, "profile"), key);
      if (found == nullptr) return;
      fabric::GroupConfig& group = ports_[port].qos.groups[g];
      group.lossless = !text_of(*found, "xoff").empty();
      const std::int64_t xoff_B = number_of("BUFFER_PROFILE", key, *found, "xoff");
      contract().ports[port].headroom_B[g] = xoff_B;
      const std::int64_t size_B = number_of("BUFFER_PROFILE", key, *found, "size");
      group.reserved_B = std::max<std::int64_t>(size_B - (own_headroom ? xoff_B : 0), 0);
      group.xon_B = number_of("BUFFER_PROFILE", key, *found, "xon");
      group.xon_offset_B = number_of("BUFFER_PROFILE", key, *found, "xon_offset");
      group.alpha_exponent = static_cast<std::int8_t>(number_of("BUFFER_PROFILE", key, *found, "dynamic_th", 0, -8, 8));
    });
  }

  void read_watchdog() {
    Time_ps poll_ps = fabric::WatchdogConfig{}.poll_ps;
    for (const auto& [name, entry] : table("PFC_WD").items()) {
      if (name == "GLOBAL") {
        poll_ps = milliseconds_of(name, entry, "POLL_INTERVAL", 200);
        continue;
      }
      const auto found = index_of_.find(name);
      if (found == index_of_.end()) {
        note(fmt::format("PFC_WD|{}: no port with a QoS map has this name", name));
        continue;
      }
      ImportedPort& port = ports_[found->second];
      fabric::WatchdogConfig& dog = port.qos.watchdog;
      dog.enabled = port.watched_mask != 0;
      if (!dog.enabled && port.qos.pfc_receive_mask != 0)
        note(fmt::format("PORT_QOS_MAP|{}: pfcwd_sw_enable lists nothing: its watchdog watches no queue", name));
      dog.detection_ps = milliseconds_of(name, entry, "detection_time", 200);
      dog.restoration_ps = milliseconds_of(name, entry, "restoration_time", 400);
      const std::string action = text_of(entry, "action");
      bool known = action.empty();  // drop
      for (const auto& word : lab::watchdog_words()) {
        if (word.text != action) continue;
        dog.action = word.value;
        known = true;
      }
      if (!known) problem(name, fmt::format("PFC_WD|{}: there is no action {}", name, lab::in_quotes(action)));
    }
    for (ImportedPort& port : ports_) port.qos.watchdog.poll_ps = poll_ps;
  }

  std::string_view text_;
  lab::ProblemList problems_;
  ConfigJson json_;
  ImportedContract made_;
  std::set<std::string> noted_;
  std::set<std::string> said_;       // ports share maps and profiles: each problem once
  std::vector<ImportedPort> ports_;  // as contract().ports
  std::map<std::string, std::size_t, std::less<>> index_of_;
};

}  // namespace

tl::expected<ImportedContract, std::vector<lab::Problem>> import_sonic(std::string_view text) {
  return SonicReader(text).read();
}

}  // namespace weft::gear
