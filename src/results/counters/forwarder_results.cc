#include "results/counters/forwarder_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/figures.h"
#include "base/text_table.h"
#include "results/report_text.h"
#include "store/rows/fabric_rows.h"
#include "store/table.h"

namespace weft::lab {

namespace {

using fabric::ForwarderPortCounters;

// By the name of an expectation.
struct ForwarderQuantity {
  std::string_view metric;
  std::uint64_t (*of)(const ForwarderPortCounters& port);
};
constexpr ForwarderQuantity kForwarderQuantities[] = {
    {"rx_out_of_buffer", [](const ForwarderPortCounters& p) { return p.rx_out_of_buffer; }},
    {"max_rx_ring", [](const ForwarderPortCounters& p) { return std::uint64_t{p.max_ring}; }},
    {"qdisc_packets", [](const ForwarderPortCounters& p) { return p.qdisc.sent_packets; }},
    {"qdisc_drops", [](const ForwarderPortCounters& p) { return p.qdisc.dropped; }},
    {"qdisc_overlimits", [](const ForwarderPortCounters& p) { return p.qdisc.overlimits; }},
    {"qdisc_requeues", [](const ForwarderPortCounters& p) { return p.qdisc.requeues; }},
    {"qdisc_marked", [](const ForwarderPortCounters& p) { return p.qdisc.marked; }},
    {"qdisc_early", [](const ForwarderPortCounters& p) { return p.qdisc.early; }},
    {"qdisc_pdrop", [](const ForwarderPortCounters& p) { return p.qdisc.pdrop; }},
    {"max_backlog_B", [](const ForwarderPortCounters& p) { return p.qdisc.max_backlog_B; }},
};

std::string tc_text(const std::string& name, const ForwarderPortOutcome& port) {
  const fabric::QdiscCounters& n = port.counters.qdisc;
  std::string out = fmt::format(
      "{}: qdisc {}\n Sent {} bytes {} pkt (dropped {}, overlimits {} requeues {})\n backlog {}b {}p requeues {}\n",
      name, qdisc_text(port.config.qdisc), n.sent_B, n.sent_packets, n.dropped, n.overlimits, n.requeues, n.backlog_B,
      n.backlog_packets, n.requeues);
  if (port.config.qdisc.kind == fabric::QdiscKind::kRed)
    out += fmt::format("  marked {} early {} pdrop {} other 0\n", n.marked, n.early, n.pdrop);
  return out;
}

}  // namespace

std::optional<std::uint64_t> forwarder_value(std::string_view metric, const ForwarderPortCounters& port) {
  const auto* found = std::find_if(std::begin(kForwarderQuantities), std::end(kForwarderQuantities),
                                   [&](const ForwarderQuantity& each) { return each.metric == metric; });
  if (found == std::end(kForwarderQuantities)) return std::nullopt;
  return found->of(port);
}

std::string qdisc_text(const fabric::QdiscConfig& qdisc) {
  if (qdisc.kind == fabric::QdiscKind::kPfifo) return fmt::format("pfifo limit {}p", qdisc.limit);
  return fmt::format("red limit {}b min {}b max {}b{}", qdisc.limit, qdisc.min_B, qdisc.max_B, qdisc.ecn ? " ecn" : "");
}

std::string forwarder_section(const RunResult& result) {
  std::string out;
  for (const SwitchOutcome& each : result.switches) {
    if (each.softirq.empty()) continue;
    if (out.empty()) out = heading("Forwarders");
    TextTable table;
    table.add_column("port", TextTable::Align::kLeft);
    for (const char* title : {"rx_ring", "most used", "rx packets", "rx_out_of_buffer", "ch_events", "ch_poll",
                              "tx_queue_stopped", "backlog kB"})
      table.add_column(title);
    std::string qdiscs;
    for (const SwitchPortOutcome& port : each.ports) {
      const ForwarderPortCounters& n = port.forwarder->counters;
      const std::string name = each.config->name + ":" + port.name;
      table.add_row({name, fmt::format("{}", port.forwarder->config.rx_ring), fmt::format("{}", n.max_ring),
                     fmt::format("{}", n.rx_packets), fmt::format("{}", n.rx_out_of_buffer),
                     fmt::format("{}", n.interrupts), fmt::format("{}", n.polls), fmt::format("{}", n.tx_stopped),
                     fmt::format("{:.1f}", static_cast<double>(n.qdisc.max_backlog_B) / 1000)});
      qdiscs += tc_text(name, *port.forwarder);
    }
    out += block(table);
    for (std::size_t c = 0; c < each.softirq.size(); ++c) {
      const fabric::SoftirqCounters& cpu = each.softirq[c];
      if (cpu.packets == 0) continue;
      out += fmt::format(
          "  {} cpu {}: {} packets, {} soft, time_squeeze {}\n", each.config->name, c, cpu.packets,
          share_text(static_cast<double>(cpu.busy_ps) / static_cast<double>(std::max<Time_ps>(result.end_ps, 1))),
          cpu.time_squeeze);
    }
    out += "\n```\n" + qdiscs + "```\n";
  }
  return out;
}

void add_forwarder_port(store::JsonText& j, const ForwarderPortOutcome& port) {
  const ForwarderPortCounters& n = port.counters;
  j.open("ethtool", '{');
  j.add("rx_packets", n.rx_packets);
  j.add("rx_out_of_buffer", n.rx_out_of_buffer);
  j.add("ch_events", n.interrupts);
  j.add("ch_poll", n.polls);
  j.add("tx_packets", n.qdisc.sent_packets);
  j.add("tx_queue_stopped", n.tx_stopped);
  j.close('}');
  j.add("rx_ring", port.config.rx_ring);
  j.add("max_rx_ring", n.max_ring);
  // As `tc -s -j qdisc` names them.
  j.open("qdisc", '{');
  j.add("text", qdisc_text(port.config.qdisc));
  j.add("kind", port.config.qdisc.kind == fabric::QdiscKind::kRed ? "red" : "pfifo");
  j.add("bytes", n.qdisc.sent_B);
  j.add("packets", n.qdisc.sent_packets);
  j.add("drops", n.qdisc.dropped);
  j.add("overlimits", n.qdisc.overlimits);
  j.add("requeues", n.qdisc.requeues);
  j.add("backlog", n.qdisc.backlog_B);
  j.add("qlen", n.qdisc.backlog_packets);
  if (port.config.qdisc.kind == fabric::QdiscKind::kRed) {
    j.add("marked", n.qdisc.marked);
    j.add("early", n.qdisc.early);
    j.add("pdrop", n.qdisc.pdrop);
    j.add("other", 0);
  }
  j.add("max_backlog_B", n.qdisc.max_backlog_B);
  j.close('}');
}

void write_forwarders(store::SqliteFile& file, const RunResult& result) {
  store::Inserter<store::ForwarderPortRow> rows(file);
  for (const SwitchOutcome& each : result.switches) {
    for (const SwitchPortOutcome& port : each.ports) {
      if (!port.forwarder) continue;
      const ForwarderPortCounters& n = port.forwarder->counters;
      const fabric::QdiscCounters& q = n.qdisc;
      rows.add({each.config->name,
                port.name,
                port.forwarder->config.rx_ring,
                n.max_ring,
                n.rx_packets,
                n.rx_out_of_buffer,
                n.interrupts,
                n.polls,
                n.tx_stopped,
                qdisc_text(port.forwarder->config.qdisc),
                q.sent_B,
                q.sent_packets,
                q.dropped,
                q.overlimits,
                q.requeues,
                q.backlog_B,
                q.backlog_packets,
                q.marked,
                q.early,
                q.pdrop,
                q.max_backlog_B});
    }
  }
}

}  // namespace weft::lab
