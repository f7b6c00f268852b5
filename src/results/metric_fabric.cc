#include "results/metric_fabric.h"

#include <algorithm>

#include "results/counters/drop_reason.h"
#include "results/counters/forwarder_results.h"

namespace weft::lab {

namespace {

// Sums and maxima over ports and classes.
struct Total {
  std::uint64_t rx_packets = 0, tx_packets = 0, ecn_marked = 0;
  std::uint64_t pause_tx = 0, pause_rx = 0, storms = 0, held_packets = 0;
  Time_ps pause_tx_ps = 0, pause_rx_ps = 0;
  std::uint64_t max_queue_B = 0, max_shared_B = 0, max_headroom_B = 0, max_buffer_B = 0;
  std::array<std::uint64_t, fabric::kFateCount> drops{};
  std::uint64_t class_drops = 0;  // by queue or group, when one class is asked for

  void add(const SwitchPortOutcome& port, std::optional<std::size_t> only) {
    const fabric::SwitchPortCounters& n = port.counters;
    for (std::size_t c = 0; c < fabric::kClasses; ++c) {
      if (only && c != *only) continue;
      rx_packets += n.rx[c].packets;
      tx_packets += n.tx[c].packets;
      ecn_marked += n.ecn_marked[c];
      pause_tx += n.pause_tx[c];
      pause_rx += port.pause_rx[c];
      pause_tx_ps += n.pause_tx_ps[c];
      pause_rx_ps += port.pause_rx_ps[c];
      storms += n.storms[c];
      class_drops += n.queue_drops[c] + n.group_drops[c];
      max_queue_B = std::max(max_queue_B, n.max_queue_B[c]);
      max_shared_B = std::max(max_shared_B, port.max_shared_B[c]);
      max_headroom_B = std::max(max_headroom_B, port.max_headroom_B[c]);
    }
    for (std::size_t f = 0; f < fabric::kFateCount; ++f) drops[f] += n.drops[f];
  }
  void add(const SwitchOutcome& each) {
    for (const SwitchPortOutcome& port : each.ports) add(port, std::nullopt);
    max_buffer_B = std::max(max_buffer_B, each.max_buffer_B);
    held_packets += each.held_packets;
  }
};

// Of a port: what its queues and groups lost, and what came in by it and had no way out. (Of a switch reasons are added
// up, which count by ingress port.)
std::uint64_t port_drops(const Total& total) {
  std::uint64_t sum = total.class_drops;
  for (fabric::Fate fate : {fabric::Fate::kFcsError, fabric::Fate::kNoRoute, fabric::Fate::kTtlExpired,
                            fabric::Fate::kRxRingFull, fabric::Fate::kCpuDrop})
    sum += total.drops[static_cast<std::size_t>(fate)];
  return sum;
}

std::optional<double> value(std::string_view metric, const Total& total, bool one_class) {
  auto number = [](auto n) { return static_cast<double>(n); };
  auto microseconds = [](Time_ps time_ps) { return static_cast<double>(time_ps) / 1e6; };
  if (metric == "rx_packets") return number(total.rx_packets);
  if (metric == "tx_packets") return number(total.tx_packets);
  if (metric == "ecn_marked") return number(total.ecn_marked);
  if (metric == "pause_tx") return number(total.pause_tx);
  if (metric == "pause_rx") return number(total.pause_rx);
  if (metric == "pause_tx_us") return microseconds(total.pause_tx_ps);
  if (metric == "pause_rx_us") return microseconds(total.pause_rx_ps);
  if (metric == "max_queue_B") return number(total.max_queue_B);
  if (metric == "max_shared_B") return number(total.max_shared_B);
  if (metric == "max_headroom_B") return number(total.max_headroom_B);
  if (metric == "max_buffer_B") return number(total.max_buffer_B);
  if (metric == "storms") return number(total.storms);
  if (metric == "held_packets") return number(total.held_packets);
  if (metric == "drops" && one_class) return number(total.class_drops);
  std::uint64_t all = 0;
  for (const DropReason& reason : drop_reasons()) {
    std::uint64_t count = total.drops[static_cast<std::size_t>(reason.fate)];
    if (metric == reason.metric) return number(count);
    all += count;
  }
  if (metric == "drops") return number(all);
  return std::nullopt;
}

// Of one port of a forwarder, or of all; nothing: no such metric, or no forwarder.
std::optional<double> of_forwarder(std::string_view metric, const SwitchOutcome& each, std::string_view only) {
  std::optional<std::uint64_t> sum;
  for (const SwitchPortOutcome& port : each.ports) {
    if (!port.forwarder || (!only.empty() && port.name != only)) continue;
    const auto value = forwarder_value(metric, port.forwarder->counters);
    if (!value) return std::nullopt;
    sum = metric.starts_with("max_") ? std::max(sum.value_or(0), *value) : sum.value_or(0) + *value;
  }
  if (!sum) return std::nullopt;
  return static_cast<double>(*sum);
}

std::optional<double> whole_fabric(std::string_view metric, const RunResult& result) {
  Total total;
  for (const SwitchOutcome& each : result.switches) total.add(each);
  if (metric == "lossless_drops") return value("headroom_drop", total, false);
  if (metric == "pause_frames") {
    std::uint64_t frames = total.pause_tx;
    for (const PortOutcome& port : result.ports) {
      for (std::uint64_t sent : port.counters.tx_pause) frames += sent;
    }
    return static_cast<double>(frames);
  }
  return value(metric, total, false);
}

}  // namespace

std::optional<double> fabric_value(std::string_view subject, std::string_view metric, const RunResult& result) {
  std::string_view node = subject.substr(0, subject.find(':'));
  for (const SwitchOutcome& each : result.switches) {
    if (each.config->name != node) continue;
    if (const auto value = of_forwarder(metric, each, node == subject ? "" : subject.substr(node.size() + 1)))
      return value;
    Total total;
    if (node == subject) {
      total.add(each);
      return value(metric, total, false);
    }
    std::string_view name = subject.substr(node.size() + 1);
    std::optional<std::size_t> only;
    if (std::size_t dot = metric.find('.'); dot != metric.npos) {
      only = static_cast<std::size_t>(metric.substr(dot + 1).front() - '0');
      metric = metric.substr(0, dot);
    }
    for (const SwitchPortOutcome& port : each.ports) {
      if (port.name != name) continue;
      total.add(port, only);
      if (metric == "drops" && !only) return static_cast<double>(port_drops(total));
      return value(metric, total, only.has_value());
    }
    // Without a cable it has counted nothing.
    return value(metric, total, false);
  }
  if (subject == "fabric") return whole_fabric(metric, result);
  if (subject == "deadlock" && metric == "cycles") return static_cast<double>(result.circular_waits.size());
  return std::nullopt;
}

}  // namespace weft::lab
