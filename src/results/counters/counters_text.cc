#include "results/counters/counters_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "base/files.h"
#include "base/json_depth.h"
#include "base/nearest.h"
#include "base/text_table.h"
#include "base/time.h"
#include "results/counters/driver_counters.h"
#include "results/counters/drop_reason.h"
#include "results/counters/port_counters.h"

namespace weft::lab {

namespace {

using Json = nlohmann::ordered_json;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kClasses = 8;

std::string simple_table(const std::vector<std::string>& header, const Rows& rows) {
  TextTable table;
  for (const std::string& title : header) table.add_column(title);
  for (const auto& row : rows) table.add_row(row);
  return table.ruled_text();
}

std::string number(const Json& object, const char* key) {
  return fmt::format("{}", object.value(key, std::uint64_t{0}));
}

// What results.json has of a port under mlx5's names, as far as other drivers count it.
PortOutcome outcome_of(const Json& port) {
  const Json ethtool = port.value("ethtool", Json::object()), hardware = port.value("hw_counters", Json::object());
  const auto count = [](const Json& counters, const std::string& name) {
    return counters.value(name, std::uint64_t{0});
  };
  PortOutcome outcome;
  nic::Counters& c = outcome.counters;
  for (std::size_t p = 0; p < kClasses; ++p) {
    const auto of_class = [&](const char* format) { return count(ethtool, fmt::format(fmt::runtime(format), p)); };
    c.priorities[p].rx = {of_class("rx_prio{}_packets"), of_class("rx_prio{}_bytes")};
    c.priorities[p].tx = {of_class("tx_prio{}_packets"), of_class("tx_prio{}_bytes")};
    c.tx_pause[p] = of_class("tx_prio{}_pause");
    outcome.pause_rx[p] = of_class("rx_prio{}_pause");
  }
  c.ip_rx = {c.rx().packets - count(ethtool, "rx_vport_rdma_unicast_packets"),
             c.rx().bytes - count(ethtool, "rx_vport_rdma_unicast_bytes")};
  c.ip_tx = {c.tx().packets - count(ethtool, "tx_vport_rdma_unicast_packets"),
             c.tx().bytes - count(ethtool, "tx_vport_rdma_unicast_bytes")};
  c.rx_discards_phy = count(ethtool, "rx_discards_phy");
  c.rx_crc_errors_phy = count(ethtool, "rx_crc_errors_phy");
  c.rx_read_requests = count(hardware, "rx_read_requests");
  c.rx_write_requests = count(hardware, "rx_write_requests");
  c.rp_cnp_handled = count(hardware, "rp_cnp_handled");
  c.rp_cnp_ignored = count(hardware, "rp_cnp_ignored");
  c.np_cnp_sent = count(hardware, "np_cnp_sent");
  c.np_ecn_marked_roce_packets = count(hardware, "np_ecn_marked_roce_packets");
  return outcome;
}

// Of a group of a port's counters in results.json: all, by the driver's names.
std::vector<std::pair<std::string, std::uint64_t>> all_counters(const Json& port, nic::CounterGroup group,
                                                                const char* key) {
  std::vector<std::pair<std::string, std::uint64_t>> list;
  if (!port.value("device", "").starts_with("mlx5")) {
    const bool ipv4 = port.value("address", "").find(':') == std::string::npos;
    for (const DriverCounter& each : driver_counters(outcome_of(port), "irdma", ipv4)) {
      if (each.group == group) list.emplace_back(each.name, each.value);
    }
    return list;
  }
  const Json counters = port.value(key, Json::object());
  for (const nic::NamedCounter& each : port_counters(PortOutcome())) {
    if (each.group == group) list.emplace_back(each.name, counters.value(std::string(each.name), std::uint64_t{0}));
  }
  return list;
}

std::string ethtool(const Json& port) {
  std::string out = fmt::format("$ ethtool -S {}\nNIC statistics:\n", port.value("name", ""));
  for (const auto& [name, value] : all_counters(port, nic::CounterGroup::kEthtool, "ethtool"))
    out += fmt::format("     {}: {}\n", name, value);
  return out;
}

std::string rdma(const Json& port) {
  std::string link = port.value("device", "") + "/1";
  std::string out = fmt::format("$ rdma statistic show link {}\nlink {}", link, link);
  for (const auto& [name, value] : all_counters(port, nic::CounterGroup::kHardware, "hw_counters"))
    out += fmt::format(" {} {}", name, value);
  return out + "\n";
}

// All eight classes of a port; of those that results.json does not have, everything is zero.
std::vector<Json> all_classes(const Json& port) {
  std::vector<Json> classes(kClasses, Json::object());
  for (std::size_t c = 0; c < kClasses; ++c) classes[c]["class"] = c;
  const Json counted = port.value("classes", Json::array());
  for (const Json& each : counted) {
    if (const auto c = each.value("class", kClasses); c < kClasses) classes[c] = each;
  }
  return classes;
}

// One row per port, one column per class.
std::string by_class(const Json& ports, const std::string& first, const std::string& prefix, const char* key) {
  std::vector<std::string> header = {first};
  for (std::size_t c = 0; c < kClasses; ++c) header.push_back(fmt::format("{}{}", prefix, c));
  Rows rows;
  for (const Json& port : ports) {
    std::vector<std::string> row = {port.value("name", "")};
    for (const Json& each : all_classes(port)) row.push_back(number(each, key));
    rows.push_back(std::move(row));
  }
  return simple_table(header, rows);
}

std::string queue_counters(const Json& ports) {
  Rows rows;
  for (const Json& port : ports) {
    for (const Json& each : all_classes(port))
      rows.push_back({port.value("name", ""), "UC" + number(each, "class"), number(each, "tx_packets"),
                      number(each, "tx_bytes"), number(each, "queue_drops"), "N/A", number(each, "ecn_marked")});
  }
  return simple_table({"Port", "TxQ", "Counter/pkts", "Counter/bytes", "Drop/pkts", "Drop/bytes", "EcnMarked/pkts"},
                      rows);
}

std::string watchdog(const Json& ports) {
  Rows rows;
  for (const Json& port : ports) {
    for (const Json& each : all_classes(port)) {
      std::uint64_t storms = each.value("storms", std::uint64_t{0});
      if (storms == 0) continue;
      bool over = each.value("restored", std::uint64_t{0}) == storms;
      rows.push_back({port.value("name", "") + ":" + number(each, "class"), over ? "operational" : "stormed",
                      fmt::format("{}/{}", storms, number(each, "restored")),
                      fmt::format("{}/{}", number(each, "tx_packets"), number(each, "watchdog_tx_dropped"))});
    }
  }
  return simple_table({"QUEUE", "STATUS", "STORM DETECTED/RESTORED", "TX OK/DROP"}, rows);
}

std::string sonic(const Json& ports) {
  std::string out = "$ show pfc counters\n";
  out += by_class(ports, "Port Rx", "PFC", "pause_rx") + "\n" + by_class(ports, "Port Tx", "PFC", "pause_tx");
  out += "\n$ show queue watermark unicast\nEgress shared pool occupancy per unicast queue:\n";
  out += by_class(ports, "Port", "UC", "max_queue_B");
  out += "\n$ show priority-group watermark headroom\nIngress headroom per PG:\n";
  out += by_class(ports, "Port", "PG", "max_headroom_B");
  out += "\n$ show priority-group watermark shared\nIngress shared pool occupancy per PG:\n";
  out += by_class(ports, "Port", "PG", "max_shared_B");
  out += "\n$ show priority-group drop counters\nIngress PG dropped packets:\n";
  out += by_class(ports, "Port", "PG", "group_drops");
  out += "\n$ show pfcwd stats\n" + watchdog(ports);
  return out + "\n$ show queue counters\n" + queue_counters(ports);
}

// Stamps are those of captures, from 2026-01-01T00:00:00Z; a run ends within the month.
std::string timestamp(Time_ps time_ps) {
  std::int64_t seconds = time_ps / kSecond_ps;
  return fmt::format("26/01/{:02} {:02}:{:02}:{:02}.{:06}", 1 + seconds / 86'400, seconds / 3600 % 24,
                     seconds / 60 % 60, seconds % 60, time_ps % kSecond_ps / kMicrosecond_ps);
}

std::string wjh(const Json& drops, const std::string& only_port) {
  Rows rows;
  const Json records = drops.value("records", Json::array());
  for (const Json& drop : records) {
    std::string in = drop.value("in", "");
    if (!only_port.empty() && in != only_port) continue;
    std::string name = drop.value("reason", "");
    std::span<const DropReason> reasons = drop_reasons();
    auto reason = std::find_if(reasons.begin(), reasons.end(), [&](const DropReason& r) { return r.name == name; });
    if (reason == reasons.end()) continue;
    std::string id = reason->wjh_id == 0 ? "not a WJH reason" : fmt::format("{}", reason->wjh_id);
    rows.push_back({fmt::format("{}", rows.size() + 1), timestamp(drop.value("time_ps", Time_ps{0})), in,
                    drop.value("out", "N/A"),
                    fmt::format("{}:{}", drop.value("src_ip", ""), number(drop, "udp_src_port")),
                    drop.value("dst_ip", "") + ":4791", std::string(reason->group),
                    fmt::format("{} [{}] - {}", reason->name, id, reason->remedy)});
  }
  if (rows.empty()) return "nothing was lost here\n";
  std::string out = simple_table({"#", "Timestamp", "sPort", "dPort", "Src IP:Port", "Dst IP:Port", "Drop group",
                                  "Drop reason [id] - Recommended action"},
                                 rows);
  auto total = drops.value("total", std::uint64_t{0});
  if (only_port.empty() && total > rows.size())
    out += fmt::format("and {} more that were counted only\n", total - rows.size());
  return out;
}

// The ports of `all` that are meant, by name; empty `wanted`: all.
tl::expected<Json, CountersProblem> choose(const Json& all, const std::string& node, const std::string& wanted) {
  if (wanted.empty()) return all;
  std::vector<std::string> names;
  for (const Json& port : all) {
    if (port.value("name", "") == wanted) return Json::array({port});
    names.push_back(port.value("name", ""));
  }
  std::vector<std::string_view> views(names.begin(), names.end());
  return tl::make_unexpected(CountersProblem{fmt::format("{} has no port {} with a cable", node, wanted),
                                             did_you_mean(wanted, views, "ports")});
}

std::string tc(const Json& ports) {
  std::string out;
  for (const Json& port : ports) {
    const Json qdisc = port.value("qdisc", Json::object());
    if (!out.empty()) out += "\n";
    out += fmt::format("$ tc -s qdisc show dev {}\nqdisc {}\n", port.value("name", ""), qdisc.value("text", ""));
    out += fmt::format(" Sent {} bytes {} pkt (dropped {}, overlimits {} requeues {})\n backlog {}b {}p requeues {}\n",
                       number(qdisc, "bytes"), number(qdisc, "packets"), number(qdisc, "drops"),
                       number(qdisc, "overlimits"), number(qdisc, "requeues"), number(qdisc, "backlog"),
                       number(qdisc, "qlen"), number(qdisc, "requeues"));
    if (qdisc.value("kind", "") == "red")
      out += fmt::format("  marked {} early {} pdrop {} other 0\n", number(qdisc, "marked"), number(qdisc, "early"),
                         number(qdisc, "pdrop"));
  }
  return out;
}

std::string forwarder_ethtool(const Json& ports) {
  std::string out;
  for (const Json& port : ports) {
    if (!out.empty()) out += "\n";
    out += fmt::format("$ ethtool -S {}\nNIC statistics:\n", port.value("name", ""));
    const Json counters = port.value("ethtool", Json::object());
    for (const auto& [name, value] : counters.items())
      out += fmt::format("     {}: {}\n", name, value.get<std::uint64_t>());
  }
  return out;
}

tl::expected<std::string, CountersProblem> of_forwarder(const Json& each, const std::string& port, CounterStyle style,
                                                        bool json) {
  const std::string node = each.value("name", "");
  if (style != CounterStyle::kEthtool && style != CounterStyle::kTc)
    return tl::make_unexpected(CountersProblem{node + " is a software forwarder", "use --as tc or --as ethtool"});
  auto ports = choose(each.value("ports", Json::array()), node, port);
  if (!ports) return tl::make_unexpected(ports.error());
  if (json) return (port.empty() ? each : ports->front()).dump(2) + "\n";
  return style == CounterStyle::kTc ? tc(*ports) : forwarder_ethtool(*ports);
}

// What Just Happened is NVIDIA's: other switches have no such table, whatever drops the model has.
CountersProblem without_wjh(const Json& each, const Json& switches) {
  std::vector<std::string> able;
  for (const Json& other : switches) {
    if (other.value("has_wjh", false)) able.push_back(other.value("name", ""));
  }
  return {fmt::format("{} is a {}, which has no What Just Happened", each.value("name", ""), each.value("model", "")),
          fmt::format("report.md and --json have its drops with their reasons; {}",
                      able.empty() ? "no switch of this run has it" : fmt::format("{} has it", fmt::join(able, ", ")))};
}

tl::expected<std::string, CountersProblem> of_switch(const Json& each, const Json& switches, const std::string& port,
                                                     CounterStyle style, bool json) {
  const std::string node = each.value("name", "");
  if (style == CounterStyle::kEthtool || style == CounterStyle::kRdma || style == CounterStyle::kTc)
    return tl::make_unexpected(CountersProblem{node + " is a switch", "use --as sonic or --as wjh"});
  auto ports = choose(each.value("ports", Json::array()), node, port);
  if (!ports) return tl::make_unexpected(ports.error());
  if (json) return (port.empty() ? each : ports->front()).dump(2) + "\n";
  if (style == CounterStyle::kSonic) return sonic(*ports);
  if (!each.value("has_wjh", false)) return tl::make_unexpected(without_wjh(each, switches));
  return wjh(each.value("drops", Json::object()), port);
}

tl::expected<std::string, CountersProblem> of_host(const Json& ports, const std::string& node, const std::string& port,
                                                   CounterStyle style, bool json) {
  if (style == CounterStyle::kSonic || style == CounterStyle::kWjh || style == CounterStyle::kTc)
    return tl::make_unexpected(CountersProblem{node + " is a host", "use --as ethtool or --as rdma"});
  auto chosen = choose(ports, node, port.empty() ? "" : node + ":" + port);
  if (!chosen) return tl::make_unexpected(chosen.error());
  if (json) return (chosen->size() == 1 ? chosen->front() : *chosen).dump(2) + "\n";
  std::string out;
  for (const Json& each : *chosen) {
    if (!out.empty()) out += "\n";
    out += style == CounterStyle::kRdma ? rdma(each) : ethtool(each);
  }
  return out;
}

}  // namespace

std::optional<CounterStyle> counter_style(std::string_view name) {
  if (name == "ethtool") return CounterStyle::kEthtool;
  if (name == "rdma") return CounterStyle::kRdma;
  if (name == "sonic") return CounterStyle::kSonic;
  if (name == "wjh") return CounterStyle::kWjh;
  if (name == "tc") return CounterStyle::kTc;
  return std::nullopt;
}

tl::expected<std::string, CountersProblem> counters_text(const std::string& directory, const std::string& where,
                                                         std::optional<CounterStyle> style, bool json) {
  std::string path = directory + "/results.json";
  constexpr std::size_t kLargest_B = 2'000'000'000;
  auto text = read_file(path, kLargest_B);
  if (!text)
    return tl::make_unexpected(CountersProblem{fmt::format("cannot read {}: {}", path, text.error()),
                                               "name a directory that weft run has left behind"});
  return counters_of(*text, "this run", where, style, json);
}

tl::expected<std::string, CountersProblem> counters_of(const std::string& text, std::string_view whole,
                                                       const std::string& where, std::optional<CounterStyle> style,
                                                       bool json) {
  const Json results =
      json_depth(text) > kDeepestJson ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
  if (!results.is_object() || !results.contains("ports"))
    return tl::make_unexpected(
        CountersProblem{fmt::format("results.json of {} is not what weft run writes", whole), "run the lab again"});
  std::size_t colon = where.find(':');
  std::string node = where.substr(0, colon);
  std::string port = colon == where.npos ? "" : where.substr(colon + 1);
  std::vector<std::string> names;
  const Json switches = results.value("switches", Json::array());
  for (const Json& each : switches) {
    names.push_back(each.value("name", ""));
    if (names.back() == node && each.contains("softnet"))
      return of_forwarder(each, port, style.value_or(CounterStyle::kTc), json);
    if (names.back() == node) return of_switch(each, switches, port, style.value_or(CounterStyle::kSonic), json);
  }
  Json ports = Json::array();
  for (const Json& each : results["ports"]) {
    std::string name = each.value("name", "");
    names.push_back(name.substr(0, name.find(':')));
    if (names.back() == node) ports.push_back(each);
  }
  if (!ports.empty()) return of_host(ports, node, port, style.value_or(CounterStyle::kEthtool), json);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<std::string_view> views(names.begin(), names.end());
  return tl::make_unexpected(
      CountersProblem{fmt::format("there is no node {} in {}", node, whole), did_you_mean(node, views, "nodes")});
}

}  // namespace weft::lab
