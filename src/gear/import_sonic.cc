#include "gear/import_sonic.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "model/qos_words.h"
#include "text/units.h"

namespace weft::gear {
namespace {

using fabric::kClasses;
using ConfigJson = nlohmann::json;

constexpr std::int64_t kMost = std::int64_t{1} << 50;
constexpr std::size_t kMostPorts = 1024;
constexpr std::size_t kMostProblems = 50;

lab::Place place_of_byte(std::string_view text, std::size_t byte) {
  lab::Place place{1, 1, -1};
  for (std::size_t i = 0; i + 1 < byte && i < text.size(); ++i) {
    place.column = text[i] == '\n' ? 1 : place.column + 1;
    place.line += text[i] == '\n' ? 1 : 0;
  }
  return place;
}

std::optional<std::int64_t> read_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto value = lab::parse_unsigned(negative ? text.substr(1) : text);
  if (!value || *value > static_cast<std::uint64_t>(kMost)) return std::nullopt;
  return negative ? -static_cast<std::int64_t>(*value) : static_cast<std::int64_t>(*value);
}

std::string scalar_text(const ConfigJson& value) {
  return value.is_string() ? value.get<std::string>() : value.is_number() ? value.dump() : "";
}

// "3-4" and "3": the classes of the second part of a key.
std::vector<std::uint8_t> read_classes(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = lab::parse_unsigned(text.substr(0, dash));
  const auto last = dash == text.npos ? first : lab::parse_unsigned(text.substr(dash + 1));
  std::vector<std::uint8_t> all;
  if (!first || !last || *first > *last || *last >= kClasses) return all;
  for (std::uint64_t i = *first; i <= *last; ++i) all.push_back(static_cast<std::uint8_t>(i));
  return all;
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
    contract().qos.queue_of_priority.fill(0);
    contract().qos.group_of_priority.fill(0);
    read_metadata();
    read_ports();
    read_maps();
    read_pools();
    read_queues();
    read_groups();
    read_watchdog();
    if (contract().ports.empty()) problem("PORT_QOS_MAP", "no port of this file has a QoS map");
    if (!problems_.empty()) return tl::unexpected(problems_.take());
    return std::move(made_);
  }

 private:
  Contract& contract() { return made_.contract; }

  // The place of the first mention of a word: JSON values keep none.
  void problem(std::string_view word, std::string message) {
    if (problems_.size() >= kMostProblems) return;
    const std::size_t at = text_.find(fmt::format("\"{}\"", word));
    problems_.add(place_of_byte(text_, at == text_.npos ? 0 : at + 1), std::move(message), "");
  }
  void note(std::string message) {
    if (made_.notes.size() >= kMostProblems) return;
    if (std::find(made_.notes.begin(), made_.notes.end(), message) == made_.notes.end())
      made_.notes.push_back(std::move(message));
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
                         std::int64_t otherwise = 0) {
    const std::string text = text_of(entry, field);
    if (text.empty()) return otherwise;
    if (const auto value = read_integer(text)) return *value;
    problem(key, fmt::format("{}|{}: {} {} is not a number", name, key, field, lab::in_quotes(text)));
    return otherwise;
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
        port.rate_bps = number_of("PORT", name, config, "speed") * 1'000'000;
        port.mtu_B = number_of("PORT", name, config, "mtu", 9100);
        const std::string fec = text_of(config, "fec");
        const bool pam4 = port.rate_bps >= 200'000'000'000 || port.rate_bps == 50'000'000'000;
        port.fec = fec == "fc"   ? lab::Fec::kBaseR
                   : fec != "rs" ? lab::Fec::kNone
                   : pam4        ? lab::Fec::kRs544
                                 : lab::Fec::kRs528;
        port.peer = text_of(config, "description");
      } else {
        problem(name, fmt::format("PORT_QOS_MAP|{}: there is no such port in PORT", name));
      }
      read_port_maps(name, entry);
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
  }

  // All ports of the contract have one set of maps and one list of PFC priorities.
  void read_port_maps(const std::string& name, const ConfigJson& entry) {
    const auto once = [&](const char* field, std::string& kept) {
      const std::string found = text_of(entry, field);
      if (contract().ports.empty()) {
        kept = found;
      } else if (kept != found) {
        note(fmt::format("PORT_QOS_MAP|{}: {} differs from that of the first port", name, field));
      }
    };
    once("dscp_to_tc_map", dscp_map_);
    once("dot1p_to_tc_map", dot1p_map_);
    once("tc_to_queue_map", queue_map_);
    once("tc_to_pg_map", group_map_);
    once("pfc_to_queue_map", pause_map_);
    once("pfc_enable", pfc_enable_);
  }

  template <class Store>
  void read_map(const char* name, const std::string& map, std::uint64_t keys, Store store) {
    if (map.empty()) return;
    const ConfigJson& all = table(name);
    if (!all.contains(map) || !all[map].is_object()) {
      problem(map, fmt::format("{} has no map {}", name, map));
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

  void read_maps() {
    fabric::SwitchQos& qos = contract().qos;
    qos.trust = dscp_map_.empty() && !dot1p_map_.empty() ? fabric::Trust::kPcp : fabric::Trust::kDscp;
    read_map("DSCP_TO_TC_MAP", dscp_map_, 64, [&](auto from, auto to) { qos.priority_of_dscp[from] = to; });
    read_map("TC_TO_QUEUE_MAP", queue_map_, kClasses, [&](auto from, auto to) { qos.queue_of_priority[from] = to; });
    read_map("TC_TO_PRIORITY_GROUP_MAP", group_map_, kClasses,
             [&](auto from, auto to) { qos.group_of_priority[from] = to; });
    read_map("MAP_PFC_PRIORITY_TO_QUEUE", pause_map_, kClasses,
             [&](auto from, auto to) { qos.queue_of_pause[from] = to; });
    std::string_view rest = pfc_enable_;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const auto priority = lab::parse_unsigned(rest.substr(0, comma));
      if (priority && *priority < kClasses) {
        qos.pfc_receive_mask |= static_cast<std::uint8_t>(1U << *priority);
        qos.pause_of_group[qos.group_of_priority[*priority]] = static_cast<std::uint8_t>(*priority);
      } else {
        problem("pfc_enable", fmt::format("pfc_enable {} is not a list of priorities", lab::in_quotes(pfc_enable_)));
      }
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    if (qos.pfc_receive_mask != 0) qos.flow_control = fabric::FlowControl::kPfc;
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
        for (ContractPort& port : contract().ports) {
          if (port.sonic_name != one) continue;
          for (std::uint8_t number : classes) take(port, number, entry, key);
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
    each_class("QUEUE", [&](ContractPort& port, std::uint8_t q, const ConfigJson& entry, const std::string& key) {
      if (&port != &contract().ports.front()) return;
      fabric::QueueConfig& queue = contract().qos.queues[q];
      if (const std::string name = text_of(entry, "scheduler"); !name.empty()) {
        if (const ConfigJson* found = profile("SCHEDULER", name, key)) {
          queue.scheduling =
              text_of(*found, "type") == "STRICT" ? fabric::Scheduling::kStrict : fabric::Scheduling::kDwrr;
          queue.weight = static_cast<std::uint32_t>(
              std::clamp<std::int64_t>(number_of("SCHEDULER", name, *found, "weight", 1), 1, 100));
        }
      }
      const std::string name = text_of(entry, "wred_profile");
      if (name.empty()) return;
      const ConfigJson* found = profile("WRED_PROFILE", name, key);
      if (found == nullptr) return;
      if (const std::string ecn = text_of(*found, "ecn"); ecn == "ecn_none" || ecn.empty()) {
        note(fmt::format("WRED_PROFILE|{} has no ecn: it drops what it should mark", name));
        return;
      }
      queue.ecn.enabled = true;
      queue.ecn.min_B = number_of("WRED_PROFILE", name, *found, "green_min_threshold");
      queue.ecn.max_B = number_of("WRED_PROFILE", name, *found, "green_max_threshold");
      queue.ecn.probability_ppb = static_cast<std::uint32_t>(
          std::clamp<std::int64_t>(number_of("WRED_PROFILE", name, *found, "green_drop_probability", 100), 0, 100) *
          10'000'000);
    });
    each_class("BUFFER_QUEUE",
               [&](ContractPort& port, std::uint8_t q, const ConfigJson& entry, const std::string& key) {
                 if (&port != &contract().ports.front()) return;
                 const ConfigJson* found = profile("BUFFER_PROFILE", text_of(entry, "profile"), key);
                 if (found == nullptr) return;
                 fabric::QueueConfig& queue = contract().qos.queues[q];
                 queue.lossless = text_of(*found, "pool").find("lossless") != std::string::npos;
                 queue.reserved_B = number_of("BUFFER_PROFILE", key, *found, "size");
                 queue.alpha_exponent = static_cast<std::int8_t>(
                     std::clamp<std::int64_t>(number_of("BUFFER_PROFILE", key, *found, "dynamic_th", 3), -8, 8));
               });
  }

  void read_groups() {
    const bool own_headroom = contract().qos.headroom_pool_B == 0;
    each_class("BUFFER_PG", [&](ContractPort& port, std::uint8_t g, const ConfigJson& entry, const std::string& key) {
      if (const std::string name = text_of(entry, "profile"); name == "NULL") {
        note("BUFFER_PG with profile NULL: the switch sizes headroom itself");
        return;
      }
      const ConfigJson* found = profile("BUFFER_PROFILE", text_of(entry, "profile"), key);
      if (found == nullptr) return;
      fabric::GroupConfig& group = contract().qos.groups[g];
      group.lossless = !text_of(*found, "xoff").empty();
      const std::int64_t xoff_B = number_of("BUFFER_PROFILE", key, *found, "xoff");
      port.headroom_B[g] = xoff_B;
      const std::int64_t size_B = number_of("BUFFER_PROFILE", key, *found, "size");
      group.reserved_B = std::max<std::int64_t>(size_B - (own_headroom ? xoff_B : 0), 0);
      group.xon_B = number_of("BUFFER_PROFILE", key, *found, "xon");
      group.xon_offset_B = number_of("BUFFER_PROFILE", key, *found, "xon_offset");
      group.alpha_exponent = static_cast<std::int8_t>(
          std::clamp<std::int64_t>(number_of("BUFFER_PROFILE", key, *found, "dynamic_th"), -8, 8));
    });
  }

  void read_watchdog() {
    const ConfigJson& all = table("PFC_WD");
    fabric::WatchdogConfig& dog = contract().qos.watchdog;
    for (const auto& [name, entry] : all.items()) {
      if (name == "GLOBAL") {
        dog.poll_ps = number_of("PFC_WD", name, entry, "POLL_INTERVAL", 200) % 1'000'000 * kMillisecond_ps;
        continue;
      }
      dog.enabled = true;
      dog.detection_ps = number_of("PFC_WD", name, entry, "detection_time", 200) % 1'000'000 * kMillisecond_ps;
      dog.restoration_ps = number_of("PFC_WD", name, entry, "restoration_time", 400) % 1'000'000 * kMillisecond_ps;
      const std::string action = text_of(entry, "action");
      for (const auto& word : lab::watchdog_words()) {
        if (word.text == action) dog.action = word.value;
      }
    }
  }

  std::string_view text_;
  lab::ProblemList problems_;
  ConfigJson json_;
  ImportedContract made_;
  std::string dscp_map_, dot1p_map_, queue_map_, group_map_, pause_map_, pfc_enable_;
};

}  // namespace

tl::expected<ImportedContract, std::vector<lab::Problem>> import_sonic(std::string_view text) {
  return SonicReader(text).read();
}

}  // namespace weft::gear
