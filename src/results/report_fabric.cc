#include "results/report_fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/figures.h"
#include "base/plural.h"
#include "base/text_table.h"
#include "results/counters/drop_reason.h"
#include "results/pause_rows.h"
#include "results/report_text.h"

namespace weft::lab {

namespace {

using Align = TextTable::Align;

constexpr std::size_t kMostRows = 32;     // of a table
constexpr std::size_t kPauseEvents = 40;  // of the timeline
constexpr std::size_t kNamesInDrawing = 8;

std::string count(std::uint64_t value) {
  return fmt::format("{}", value);
}

std::uint64_t sum(const std::array<std::uint64_t, fabric::kClasses>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

// "h0 h1 … h15 (16)"
std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  bool all = names.size() <= kNamesInDrawing;
  for (std::size_t i = 0; i < (all ? names.size() : kNamesInDrawing - 2); ++i)
    text += (text.empty() ? "" : " ") + names[i];
  if (!all) text += " … " + names.back();
  return text;
}

std::string models_text(const std::map<std::string, std::size_t>& models) {
  std::string text;
  for (const auto& [model, number] : models) text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", number, model);
  return text;
}

struct BufferRow {
  std::uint64_t weight = 0;
  const SwitchOutcome* device = nullptr;
  const SwitchPortOutcome* port = nullptr;
  std::size_t class_ = 0;
};

BufferRow buffer_row(const SwitchOutcome& each, const SwitchPortOutcome& port, std::size_t c) {
  const fabric::SwitchPortCounters& n = port.counters;
  std::uint64_t lost = n.queue_drops[c] + n.group_drops[c];
  // A loss says more than a mark, a mark more than a long queue.
  const std::uint64_t weight = (lost > 0 ? std::uint64_t{2} << 60 : 0) +
                               (n.ecn_marked[c] > 0 ? std::uint64_t{1} << 60 : 0) +
                               std::max(n.max_queue_B[c], port.max_shared_B[c]);
  return {weight, &each, &port, c};
}

std::vector<std::string> cells(const BufferRow& row) {
  const SwitchPortOutcome& port = *row.port;
  const fabric::SwitchPortCounters& n = port.counters;
  const std::size_t c = row.class_;
  return {row.device->config->name + ":" + port.name,
          count(c),
          count(n.rx[c].packets),
          count(n.tx[c].packets),
          count(n.ecn_marked[c]),
          count(n.queue_drops[c]),
          count(n.group_drops[c]),
          kB_cell(n.max_queue_B[c]),
          kB_cell(port.max_shared_B[c]),
          kB_cell(port.max_headroom_B[c])};
}

void add_pause_row(TextTable& table, const std::string& port, std::size_t c, std::uint64_t sent, Time_ps sent_ps,
                   std::uint64_t received, std::uint64_t transitions, Time_ps stopped_ps) {
  if (sent + received == 0) return;
  table.add_row(
      {port, count(c), count(sent), us_cell(sent_ps), count(received), count(transitions), us_cell(stopped_ps)});
}

}  // namespace

std::uint64_t pause_frames(const PortOutcome& port) {
  return sum(port.counters.tx_pause) + sum(port.pause_rx);
}

std::string fabric_drawing(const Lab& lab) {
  std::uint32_t tiers = 0;
  for (const SwitchConfig& each : lab.switches) tiers = std::max(tiers, each.tier + 1);
  std::string out = "```\n";
  for (std::uint32_t tier = tiers; tier-- > 0;) {
    std::vector<std::string> names;
    std::map<std::string, std::size_t> models;
    for (const SwitchConfig& each : lab.switches) {
      if (each.tier != tier) continue;
      names.push_back(each.name);
      ++models[each.model.description.empty() ? each.model.name : each.model.description];
    }
    if (!names.empty()) out += fmt::format("tier {}  {}\n        {}\n", tier, names_text(names), models_text(models));
  }
  std::vector<std::string> names;
  std::map<std::string, std::size_t> models;
  for (const HostConfig& host : lab.hosts) {
    names.push_back(host.name);
    for (const NicConfig& nic : host.nics) ++models[nic.model.name];
  }
  out += fmt::format("hosts   {}\n        {}\n", names_text(names), models_text(models));
  std::map<std::pair<std::int64_t, bool>, std::size_t> kinds;
  for (const LinkConfig& link : lab.links) ++kinds[{link.rate_bps, link.a.is_switch() && link.b.is_switch()}];
  std::map<std::string, std::size_t> links;
  for (const auto& [kind, number] : kinds)
    links[fmt::format("{} {}", line_rate_text(kind.first), kind.second ? "between switches" : "to hosts")] += number;
  out += fmt::format("links   {}\n", models_text(links));
  return out + "```\n";
}

std::string switch_section(const RunResult& result) {
  if (result.switches.empty()) return "";
  std::vector<BufferRow> rows;
  for (const SwitchOutcome& each : result.switches) {
    for (const SwitchPortOutcome& port : each.ports) {
      for (std::size_t c = 0; c < fabric::kClasses; ++c) {
        if (port.counters.rx[c].packets + port.counters.tx[c].packets > 0) rows.push_back(buffer_row(each, port, c));
      }
    }
  }
  std::string out =
      heading("Switches") +
      "Lost on the way out (queue) and in (group); the most that queue, shared buffer and headroom held.\n\n";
  if (rows.size() > kMostRows) {
    out += fmt::format("The {} fullest of {} port and priority pairs; all are in results.json.\n\n", kMostRows,
                       rows.size());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const BufferRow& a, const BufferRow& b) { return a.weight > b.weight; });
    rows.resize(kMostRows);
  }
  TextTable table;
  table.add_column("port", Align::kLeft);
  for (const char* title :
       {"prio", "rx pkts", "tx pkts", "marked", "lost out", "lost in", "queue kB", "shared kB", "headroom kB"}) {
    table.add_column(title);
  }
  for (const BufferRow& row : rows) table.add_row(cells(row));
  if (!table.empty()) out += block(table);
  std::vector<const SwitchOutcome*> fullest;
  for (const SwitchOutcome& each : result.switches) fullest.push_back(&each);
  std::stable_sort(fullest.begin(), fullest.end(),
                   [](const SwitchOutcome* a, const SwitchOutcome* b) { return a->max_buffer_B > b->max_buffer_B; });
  constexpr std::size_t kMostSwitches = 8;
  for (std::size_t i = 0; i < std::min(kMostSwitches, fullest.size()); ++i) {
    const SwitchOutcome& each = *fullest[i];
    if (each.max_buffer_B == 0 && each.held_packets == 0) continue;
    out += fmt::format("  {}: at most {} of {} kB of the shared pool in use", each.config->name,
                       kB_cell(each.max_buffer_B), kB_cell(each.pool_B));
    if (each.held_packets > 0) out += fmt::format("; {} still held", counted(each.held_packets, "packet"));
    out += "\n";
  }
  if (!fullest.empty() && fullest.front()->max_buffer_B == 0)
    out += "  no switch used its shared pool: what waited was within the ports' reserves\n";
  return out;
}

std::string pause_section(const RunResult& result) {
  TextTable table;
  table.add_column("port", Align::kLeft);
  for (const char* title : {"class", "sent", "stopping it us", "received", "transitions", "stopped us"})
    table.add_column(title);
  for (std::size_t c = 0; c < fabric::kClasses; ++c) {
    for (const PortOutcome& port : result.ports) {
      add_pause_row(table, port.name, c, port.counters.tx_pause[c], port.counters.tx_pause_ps[c], port.pause_rx[c],
                    port.pause_rx_transitions[c], port.pause_rx_ps[c]);
    }
    for (const SwitchOutcome& each : result.switches) {
      for (const SwitchPortOutcome& port : each.ports) {
        if (port.counters.pause_tx[c] + port.pause_rx[c] == 0) continue;
        add_pause_row(table, each.config->name + ":" + port.name, c, port.counters.pause_tx[c],
                      port.counters.pause_tx_ps[c], port.pause_rx[c], port.pause_rx_transitions[c],
                      port.pause_rx_ps[c]);
      }
    }
  }
  if (table.empty()) return "";
  std::string out = heading("Pauses") + "Frames sent to and received from the peer, XOFF and XON.\n\n" + block(table);
  std::uint64_t left_out = 0;
  std::vector<PauseRow> rows = merged_pauses(result, left_out);
  if (rows.empty()) return out;
  std::size_t shown = std::min(kPauseEvents, rows.size());
  out += shown < rows.size() ? fmt::format("\nThe first {} of {} events:\n\n", shown, rows.size() + left_out)
                             : "\nIn order of time:\n\n";
  TextTable events;
  events.add_column("us");
  events.add_column("port", Align::kLeft);
  events.add_column("class");
  events.add_column("what", Align::kLeft);
  for (std::size_t i = 0; i < shown; ++i)
    events.add_row({us_cell(rows[i].time_ps), rows[i].port, classes_text(rows[i].classes) + " ", pause_text(rows[i])});
  return out + block(events);
}

std::string drop_section(const RunResult& result) {
  TextTable table;
  table.add_column("switch", Align::kLeft);
  table.add_column("packets");
  table.add_column("reason", Align::kLeft);
  table.add_column("WJH id", Align::kLeft);
  table.add_column("came in by", Align::kLeft);
  table.add_column("what to do", Align::kLeft);
  for (const SwitchOutcome& each : result.switches) {
    for (const DropReason& reason : drop_reasons()) {
      std::uint64_t packets = 0;
      std::vector<std::string> ports;
      for (const SwitchPortOutcome& port : each.ports) {
        std::uint64_t here = port.counters.drops[static_cast<std::size_t>(reason.fate)];
        packets += here;
        if (here > 0) ports.push_back(port.name);
      }
      if (packets == 0) continue;
      std::string by =
          ports.size() > 2 ? fmt::format("{} ports", ports.size()) : fmt::format("{}", fmt::join(ports, " "));
      table.add_row({each.config->name, count(packets), std::string(reason.name),
                     reason.wjh_id == 0 ? "not a WJH reason" : count(static_cast<std::uint64_t>(reason.wjh_id)), by,
                     std::string(reason.remedy)});
    }
  }
  if (table.empty()) return "";
  return heading("Lost in switches") + block(table);
}

std::string deadlock_section(const RunResult& result) {
  if (result.circular_waits.empty()) return "";
  std::string out = heading("Deadlock");
  for (const std::vector<std::string>& cycle : result.circular_waits)
    out += fmt::format("  circular wait: {} -> {}\n", fmt::join(cycle, " -> "), cycle.front());
  return out + "  Each port is stopped by the next; nothing in these queues can leave.\n";
}

}  // namespace weft::lab
