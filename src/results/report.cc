#include "results/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/figures.h"
#include "base/plural.h"
#include "results/counters/forwarder_results.h"
#include "results/counters/lag_results.h"
#include "results/explanation.h"
#include "results/kinds/job_timeline.h"
#include "results/kinds/workload_kind.h"
#include "results/lossless_loss.h"
#include "results/report_fabric.h"
#include "results/report_text.h"
#include "spec/work.h"
#include "text/units.h"
#include "wire/mtu.h"

namespace weft::lab {

namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kMostPorts = 32;  // of the wire table
constexpr std::size_t kMostCountersOfFabric = 24;
constexpr std::size_t kMostCounters = 64;  // lines

// "vm00  mlx5_0  ConnectX-4 Lx" boxes with the cable between them.
std::string drawing(const Lab& lab) {
  if (!lab.switches.empty()) return fabric_drawing(lab);
  std::string out = "```\n";
  for (const LinkConfig& link : lab.links) {
    std::vector<std::string> left = port_lines(lab, link.a);
    std::vector<std::string> right = port_lines(lab, link.b);
    std::string speed = line_rate_text(link.rate_bps);
    std::string cable =
        fmt::format("{} {}, {}", format_quantity(link.length_mm, Quantity::kLength), to_string(link.cable),
                    link.fec == Fec::kNone ? "no FEC" : fmt::format("{} FEC", to_string(link.fec)));
    out += side_by_side(box(left), fmt::format("{}\n{}", speed, cable), box(right));
  }
  return out + "```\n";
}

std::string workload_section(const Lab& lab, const RunResult& result, std::size_t number) {
  const WorkloadOutcome& outcome = result.workloads[number];
  std::string out = outcome.visit(
      [&](const auto& options, const auto& left) { return report_section(options, left, lab, *outcome.config); });
  // perftest has latencies of its own, which begin and end elsewhere.
  const bool has_own = outcome.visit([](const auto& options, const auto&) { return options.kKey == "perftest"; });
  if (has_own || number >= result.latency.workloads.size()) return out;
  const LogHistogram& latency_ps = result.latency.workloads[number].latency_ps;
  return latency_ps.count() == 0 ? out : out + latency_line(latency_ps);
}

std::string ledger_line(const std::string& where, const fabric::Ledger& ledger, std::uint64_t in_flight) {
  std::string out = fmt::format("  ledger {}: {} sent", where, ledger.sent);
  if (ledger.copies > 0) out += fmt::format(" + {} copied by faults", ledger.copies);
  if (ledger.replicas > 0) out += fmt::format(" + {} replicated by switches", ledger.replicas);
  std::string sum;
  for (std::size_t f = 0; f < fabric::kFateCount; ++f) {
    if (ledger.fates[f] > 0)
      sum += fmt::format("{}{} {}", sum.empty() ? "" : " + ", ledger.fates[f], fabric::kFateNames[f]);
  }
  if (in_flight > 0) sum += fmt::format("{}{} in flight", sum.empty() ? "" : " + ", in_flight);
  return out + fmt::format(" = {}\n", sum.empty() ? "0" : sum);
}

// Packets by what became of them, over all links: each hop counts.
std::string ledger_sum(const RunResult& result) {
  fabric::Ledger all;
  std::uint64_t in_flight = 0;
  for (const LinkOutcome& link : result.links) {
    all.sent += link.ledger.sent;
    all.copies += link.ledger.copies;
    all.replicas += link.ledger.replicas;
    for (std::size_t f = 0; f < fabric::kFateCount; ++f) all.fates[f] += link.ledger.fates[f];
    in_flight += link.in_flight;
  }
  std::string line = ledger_line(fmt::format("{} directions", result.links.size()), all, in_flight);
  if (line.size() > kColumns) line.replace(line.find(" = "), 3, "\n    = ");
  return line;
}

std::string wire_section(const RunResult& result) {
  std::string out = heading("On the wire");
  // A fabric has more ports than anybody reads: the busiest, by what they sent.
  std::vector<const PortOutcome*> shown;
  for (const PortOutcome& port : result.ports) shown.push_back(&port);
  if (shown.size() > kMostPorts) {
    std::stable_sort(shown.begin(), shown.end(), [](const PortOutcome* a, const PortOutcome* b) {
      return a->counters.tx().bytes > b->counters.tx().bytes;
    });
    shown.resize(kMostPorts);
    out += fmt::format("The busiest {} of {} NIC ports; all are in results.json.\n\n", kMostPorts, result.ports.size());
  }
  out += "```\n";
  out += fmt::format("{:<12} {:>12} {:>14} {:>9} {:>6} {:>7} {:>8} {:>6} {:>7} {:>8}\n", "port", "tx frames",
                     "tx bytes", "ACKs", "NAKs", "re-sent", "CE rcvd", "CNPs", "pauses", "lost");
  for (const PortOutcome* each : shown) {
    const PortOutcome& port = *each;
    const nic::Counters& c = port.counters;
    std::uint64_t lost = 0;
    for (const LinkOutcome& link : result.links) {
      if (link.from != port.name) continue;
      for (auto fate : {fabric::Fate::kFaultDrop, fabric::Fate::kLinkDown, fabric::Fate::kFcsError,
                        fabric::Fate::kIcrcError, fabric::Fate::kRxBufferFull}) {
        lost += link.ledger.of(fate);
      }
    }
    out += fmt::format("{:<12} {:>12} {:>14} {:>9} {:>6} {:>7} {:>8} {:>6} {:>7} {:>8}\n", port.name, c.tx().packets,
                       c.tx().bytes, c.acks_sent, c.naks_sent, c.retransmitted_packets, c.np_ecn_marked_roce_packets,
                       c.np_cnp_sent, pause_frames(port), lost);
  }
  out += "```\n";
  for (const FaultOutcome& fault : result.faults) {
    out += fmt::format("  fault {} at {} hit {} frame{}\n", fault.name, fault.where, fault.hits,
                       fault.hits == 1 ? "" : "s");
  }
  for (const TakenCommand& command : result.commands) {
    out += fmt::format("  {}: {}{}\n", command.state, command.line,
                       command.problem.empty() ? "" : fmt::format(" ({})", command.problem));
  }
  if (!result.switches.empty()) return out + ledger_sum(result);
  for (const LinkOutcome& link : result.links)
    out += ledger_line(fmt::format("{} -> {}", link.from, link.to), link.ledger, link.in_flight);
  return out;
}

// Counters that a healthy idle port does not show, under the names that the driver prints.
std::string counter_section(const RunResult& result) {
  std::string lines;
  std::size_t count = 0;
  const std::size_t most = result.switches.empty() ? kMostCounters : kMostCountersOfFabric;
  for (const PortOutcome& port : result.ports) {
    for (const nic::NamedCounter& counter : nic::named(port.counters)) {
      bool error = counter.group == nic::CounterGroup::kHardware || counter.name == "rx_crc_errors_phy" ||
                   counter.name == "rx_discards_phy";
      if (error && counter.value > 0 && ++count <= most)
        lines += fmt::format("{:<12} {:<8} {:<32} {:>12}\n", port.name, port.device, counter.name, counter.value);
    }
  }
  if (lines.empty()) return "";
  if (count > most) lines += fmt::format("and {} more in results.json\n", count - most);
  std::string out = heading("hw_counters that moved") + "```\n" + lines + "```\n";
  const bool restarts = std::any_of(result.ports.begin(), result.ports.end(),
                                    [](const PortOutcome& port) { return port.counters.roce_slow_restart > 0; });
  // As ConnectX-5 counts: senders handled 2.24 times as many CNPs as their peer had sent ([simllm-dcqcn]).
  if (restarts)
    out += "  rp_cnp_handled counts each slow restart as a CNP, beside those that came (roce_slow_restart)\n";
  return out;
}

std::string expectation_section(const RunResult& result) {
  if (result.expectations.empty()) return "";
  std::string out = heading("Expectations");
  for (const ExpectationOutcome& e : result.expectations) {
    std::string value = e.value ? number_text(*e.value) : "no such value in this run";
    out += fmt::format("  {} {}.{} = {} (expected {})\n", e.met ? "ok  " : "FAIL", e.expectation->subject,
                       e.expectation->metric, value, range_text(e.expectation->min, e.expectation->max));
  }
  return out;
}

std::string capture_text(const RunResult& result, const ReportPaths& paths) {
  if (!result.capture_error.empty()) return fmt::format("  no capture: {}\n", result.capture_error);
  if (result.capture_files.empty()) return "  nothing was captured; add --capture all, or --capture PORT\n";
  std::vector<std::string> names;
  for (const std::string& path : result.capture_files) {
    const std::string name = std::filesystem::path(path).filename().string();
    names.push_back(paths.directory == "." ? name : paths.directory + "/" + name);
  }
  std::string out = names.front();
  if (names.size() > 1) out += fmt::format(" to {}", names.back());
  out = fmt::format("  {} ({}); open it with\n    wireshark {}\n    tshark -r {}\n", out,
                    counted(result.captured_frames, "frame"), names.back(), names.back());
  if (result.uncaptured_frames > 0)
    out += fmt::format("  the capture was full then: {} more frame{} not in it\n", result.uncaptured_frames,
                       result.uncaptured_frames == 1 ? " is" : "s are");
  return out;
}

}  // namespace

std::string report_body(const Lab& lab, const RunResult& result) {
  std::string out = fmt::format("# {}\n\n", lab.name);
  if (!lab.description.empty()) out += lab.description + "\n\n";
  out += lossless_notice(lab, result);
  out += drawing(lab);
  for (std::size_t i = 0; i < result.workloads.size(); ++i) out += workload_section(lab, result, i);
  if (result.interrupted) out += "\nInterrupted: what follows is what had happened by then.\n";
  if (result.cut_off && !lab.switches.empty())
    out += fmt::format("\nThe lab's duration, {}, was over before everything had come to rest.\n",
                       moment_text(result.end_ps));
  out += deadlock_section(result);
  out += drop_section(result);
  out += pause_section(result);
  out += switch_section(result);
  out += lag_section(lab, result);
  out += forwarder_section(result);
  out += wire_section(result);
  out += counter_section(result);
  return out + expectation_section(result);
}

std::string report_files(const Lab& lab, const RunResult& result, const ReportPaths& paths) {
  std::string out = heading("Files");
  out += fmt::format("  simulated {}, seed {}\n", moment_text(result.end_ps), lab.seed);
  if (!paths.directory.empty())
    out += fmt::format("  {}/report.md, {}/results.json{}\n", paths.directory, paths.directory,
                       lab.switches.empty() ? "" : ", " + paths.directory + "/results.sqlite");
  for (const WorkloadOutcome& outcome : result.workloads) {
    const std::string timeline = timeline_name(result, outcome);
    if (!timeline.empty() && !paths.directory.empty())
      out += fmt::format("  {}/{}: open it in ui.perfetto.dev\n", paths.directory, timeline);
  }
  out += capture_text(result, paths);
  if (!lab.mirrors.empty() && !paths.directory.empty())
    out += fmt::format("  {}/mirror.pcapng: {} mirror session{}\n", paths.directory, lab.mirrors.size(),
                       lab.mirrors.size() == 1 ? "" : "s");
  return out;
}

std::string report(const Lab& lab, const RunResult& result, const ReportPaths& paths) {
  return report_body(lab, result) + report_files(lab, result, paths) + report_summary(lab, result);
}

}  // namespace weft::lab
