#include "results/lag_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "results/report_table.h"
#include "results/report_text.h"

namespace weft::lab {
namespace {

LagMember member_of(const std::string& name, const SwitchPortOutcome& port) {
  LagMember member{name, 0, 0};
  for (const fabric::PortTraffic& sent : port.counters.tx) {
    member.packets += sent.packets;
    member.bytes += sent.bytes;
  }
  return member;
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
  std::map<std::string, const SwitchPortOutcome*> ports;
  for (const SwitchOutcome& each : result.switches) {
    for (const SwitchPortOutcome& port : each.ports) ports.emplace(each.config->name + ":" + port.name, &port);
  }
  for (const LagConfig& lag : lab.lags) {
    const LinkConfig& first = lab.links[lag.links.front()];
    for (const std::uint32_t from : {first.a.host, first.b.host}) {
      LagDirection made{lag.name,
                        lab.switches[from].name,
                        lab.switches[from == first.a.host ? first.b.host : first.a.host].name,
                        first.rate_bps,
                        {}};
      for (std::uint32_t each : lag.links) {
        const LinkConfig& link = lab.links[each];
        const std::string name = port_name(lab, link.a.host == from ? link.a : link.b);
        if (const auto found = ports.find(name); found != ports.end())
          made.members.push_back(member_of(name, *found->second));
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
  Table table;
  for (const char* title : {"lag", "from", "to"}) table.add_column(title, Table::Align::kLeft);
  for (const char* title : {"members", "Gb/s each", "sent MB", "fullest"}) table.add_column(title);
  table.add_column("port", Table::Align::kLeft);
  table.add_column("without traffic");
  for (const LagDirection& each : all) {
    const LagMember& fullest = each.fullest();
    const auto idle = std::count_if(each.members.begin(), each.members.end(),
                                    [](const LagMember& member) { return member.bytes == 0; });
    table.add_row(
        {each.name, each.from, each.to, fmt::format("{}", each.members.size()),
         fmt::format("{}", each.rate_bps / 1'000'000'000),
         fmt::format("{:.2f}", static_cast<double>(each.bytes()) / 1e6),
         fmt::format("{:.1f} %", 100 * static_cast<double>(fullest.bytes) / static_cast<double>(each.bytes())),
         fullest.port, fmt::format("{}", idle)});
  }
  return out + block(table);
}

}  // namespace weft::lab
