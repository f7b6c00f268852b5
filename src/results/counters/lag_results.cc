#include "results/counters/lag_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/figures.h"
#include "base/text_table.h"
#include "results/report_text.h"

namespace weft::lab {
namespace {

// What every cabled port has sent, by its name.
using Sent = std::map<std::string, LagMember>;

Sent sent_by_ports(const RunResult& result) {
  Sent sent;
  for (const SwitchOutcome& each : result.switches) {
    for (const SwitchPortOutcome& port : each.ports) {
      LagMember member{each.config->name + ":" + port.name, 0, 0};
      for (const fabric::PortTraffic& traffic : port.counters.tx) {
        member.packets += traffic.packets;
        member.bytes += traffic.bytes;
      }
      sent.emplace(member.port, member);
    }
  }
  for (const PortOutcome& port : result.ports) {
    const nic::Counters::Traffic traffic = port.counters.tx();
    sent.emplace(port.name, LagMember{port.name, traffic.packets, traffic.bytes});
  }
  return sent;
}

const std::string& lag_node(const Lab& lab, const PortRef& end) {
  return end.is_switch() ? lab.switches[end.host].name : lab.hosts[end.host].name;
}
bool is_at(const PortRef& end, const PortRef& node) {
  return end.host == node.host && end.is_switch() == node.is_switch();
}

}  // namespace

std::uint64_t LagDirection::bytes() const {
  std::uint64_t sum = 0;
  for (const LagMember& member : members) sum += member.bytes;
  return sum;
}

const LagMember& LagDirection::fullest() const {
  return *std::max_element(members.begin(), members.end(),
                           [](const LagMember& a, const LagMember& b) { return a.bytes < b.bytes; });
}

std::vector<LagDirection> lag_directions(const Lab& lab, const RunResult& result) {
  std::vector<LagDirection> all;
  if (lab.lags.empty()) return all;
  const Sent sent = sent_by_ports(result);
  for (const LagConfig& lag : lab.lags) {
    const LinkConfig& first = lab.links[lag.links.front()];
    for (const auto& [from, to] : {std::pair(first.a, first.b), std::pair(first.b, first.a)}) {
      LagDirection made{lag.name, lag_node(lab, from), lag_node(lab, to), first.rate_bps, {}};
      for (std::uint32_t each : lag.links) {
        const LinkConfig& link = lab.links[each];
        const auto found = sent.find(port_name(lab, is_at(link.a, from) ? link.a : link.b));
        if (found != sent.end()) made.members.push_back(found->second);
      }
      if (!made.members.empty()) all.push_back(std::move(made));
    }
  }
  return all;
}

std::string lag_section(const Lab& lab, const RunResult& result) {
  constexpr std::size_t kMostLags = 32;
  std::vector<LagDirection> all = lag_directions(lab, result);
  std::erase_if(all, [](const LagDirection& each) { return each.bytes() == 0; });
  if (all.empty()) return "";
  std::string out = heading("LAGs") + "Bytes that members sent, and the part of all that the fullest had.\n\n";
  if (all.size() > kMostLags) {
    out += fmt::format("The busiest {} of {} directions; all are in results.json.\n\n", kMostLags, all.size());
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.bytes() > b.bytes(); });
    all.resize(kMostLags);
  }
  TextTable table;
  for (const char* title : {"lag", "from", "to"}) table.add_column(title, TextTable::Align::kLeft);
  for (const char* title : {"members", "Gb/s each", "sent MB", "fullest"}) table.add_column(title);
  table.add_column("port", TextTable::Align::kLeft);
  table.add_column("without traffic");
  for (const LagDirection& each : all) {
    const LagMember& fullest = each.fullest();
    const auto idle = std::count_if(each.members.begin(), each.members.end(),
                                    [](const LagMember& member) { return member.bytes == 0; });
    table.add_row({each.name, each.from, each.to, fmt::format("{}", each.members.size()),
                   fmt::format("{:g}", static_cast<double>(each.rate_bps) / 1e9),
                   fmt::format("{:.2f}", static_cast<double>(each.bytes()) / 1e6),
                   share_text(static_cast<double>(fullest.bytes) / static_cast<double>(each.bytes())), fullest.port,
                   fmt::format("{}", idle)});
  }
  return out + block(table);
}

}  // namespace weft::lab
