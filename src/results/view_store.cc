#include "results/view_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "results/evidence_rows.h"
#include "results/headline.h"
#include "results/pause_rows.h"
#include "store/table.h"

namespace weft::lab {
namespace {

struct PauseLimits {
  std::int64_t xoff_B = 0, xon_B = 0;
};

// Where a group that fills the shared pool alone meets its dynamic threshold: the x of
// x = reserved + 2^n (pool - x). With others in the pool it is lower.
PauseLimits limits_of(const SwitchConfig& device, const fabric::GroupConfig& group) {
  const bool split = device.model.buffer_split != fabric::BufferSplit::kShared;
  const double slices = split ? std::max(1u, device.model.buffer_slices) : 1;
  const double pool_B = static_cast<double>(device.qos.ingress_pool_B) / slices;
  const double alpha = std::ldexp(1.0, group.alpha_exponent);
  // What is reserved is not taken from the pool.
  const auto over_B = static_cast<std::int64_t>(alpha * pool_B / (1 + alpha));
  PauseLimits limits;
  limits.xoff_B = group.reserved_B + over_B;
  limits.xon_B = std::max(group.xon_B, limits.xoff_B - group.xon_offset_B);
  return limits;
}

void write_limits(store::SqliteFile& file, const RunResult& result) {
  store::Inserter<store::QueueLimitRow> rows(file);
  for (const SwitchOutcome& each : result.switches) {
    const SwitchConfig& device = *each.config;
    if (device.forwarder) continue;
    for (std::uint32_t c = 0; c < fabric::kClasses; ++c) {
      std::optional<PauseLimits> pause;
      const fabric::GroupConfig& group = device.qos.groups[c];
      if (group.lossless && device.qos.flow_control != fabric::FlowControl::kNone) pause = limits_of(device, group);
      const fabric::EcnRamp& ecn = device.qos.queues[c].ecn;
      if (!pause && !ecn.enabled) continue;
      store::QueueLimitRow row{device.name, c, {}, {}, {}, {}};
      if (pause) row.xoff_B = pause->xoff_B;
      if (pause) row.xon_B = pause->xon_B;
      if (ecn.enabled) row.ecn_min_B = ecn.min_B;
      if (ecn.enabled) row.ecn_max_B = ecn.max_B;
      rows.add(row);
    }
  }
}

std::int64_t whole_cells_B(const SwitchConfig& device, std::int64_t bytes) {
  const std::int64_t cell_B = std::max<std::int64_t>(1, device.model.cell_B);
  return (bytes + cell_B - 1) / cell_B * cell_B;
}

// A port without a row of its own has what most ports of its switch have: that row has no port. A row without a class
// is the pool that all groups share.
void write_headroom(store::SqliteFile& file, const RunResult& result) {
  store::Inserter<store::HeadroomRow> rows(file);
  for (const SwitchOutcome& each : result.switches) {
    const SwitchConfig& device = *each.config;
    if (!device.forwarder && device.qos.headroom_pool_B > 0)
      rows.add({device.name, {}, {}, device.qos.headroom_pool_B});
    for (std::uint32_t c = 0; c < fabric::kClasses && !device.forwarder; ++c) {
      if (!device.qos.groups[c].lossless) continue;
      std::map<std::int64_t, std::size_t> sizes;  // with how many ports have each
      for (const SwitchPort& port : device.ports) {
        if (port.headroom_B[c] > 0) ++sizes[port.headroom_B[c]];
      }
      if (sizes.empty()) continue;
      const std::int64_t usual_B = std::max_element(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) {
                                     return a.second < b.second;
                                   })->first;
      rows.add({device.name, {}, c, whole_cells_B(device, usual_B)});
      for (const SwitchPort& port : device.ports) {
        if (port.headroom_B[c] > 0 && port.headroom_B[c] != usual_B)
          rows.add({device.name, port.name, c, whole_cells_B(device, port.headroom_B[c])});
      }
    }
  }
}

std::uint64_t pauses_begun(const RunResult& result) {
  std::uint64_t left_out = 0, begun = 0, taken = 0;
  for (const PauseRow& row : merged_pauses(result, left_out)) {
    if (row.sent && row.what == fabric::PauseEnd::kStart) begun += static_cast<unsigned>(std::popcount(row.classes));
  }
  if (left_out == 0) return begun;
  const auto add = [&](const auto& port) {
    taken = std::accumulate(port.pause_rx_transitions.begin(), port.pause_rx_transitions.end(), taken);
  };
  for (const PortOutcome& port : result.ports) add(port);
  for (const SwitchOutcome& each : result.switches) std::for_each(each.ports.begin(), each.ports.end(), add);
  return std::max(begun, taken);
}

// By the kinds of the page's events. Records of events have counts that add up; single pauses beyond the logs are known
// by the ports that they stopped.
void write_event_totals(store::SqliteFile& file, const RunResult& result) {
  std::map<std::string, std::uint64_t> totals = result.noted_left_out;
  for (const EventEvidence& each : result.noted) totals[each.kind] += each.count;
  for (const SwitchOutcome& each : result.switches) totals["drop"] += each.drops.total();
  totals["pause"] = pauses_begun(result);
  store::Inserter<store::EventTotalRow> rows(file);
  for (const auto& [kind, count] : totals) {
    if (count > 0) rows.add({kind, count});
  }
}

}  // namespace

store::ExpectationRow expectation_row(const ExpectationOutcome& outcome) {
  const Expectation& expected = *outcome.expectation;
  return {expected.subject + "." + expected.metric, expected.min, expected.max, outcome.value, outcome.met};
}

store::LosslessLossRow loss_row(const LosslessLoss& loss) {
  store::LosslessLossRow row{loss.where, loss.by_nic, loss.group, loss.is_lossless, loss.lost, loss.taken, {},
                             {},         {},          {}};
  (loss.by_nic ? row.port : row.switch_) = loss.where;
  (loss.by_nic ? row.priority : row.group) = loss.group;
  return row;
}

void write_view(store::SqliteFile& file, const Lab& lab, const RunResult& result, const Explanation& explanation) {
  store::Inserter<store::RunRow> run(file);
  run.add({"headline", headline(lab, result, explanation)});
  run.add({"why", summary_text(explanation)});
  run.add({"failures", fmt::format("{}", fmt::join(result.failures(), "\n"))});
  store::Inserter<store::ExpectationRow> expectations(file);
  for (const ExpectationOutcome& each : result.expectations) expectations.add(expectation_row(each));
  store::Inserter<store::CableRow> cables(file);
  for (const LinkConfig& link : lab.links)
    cables.add({port_name(lab, link.a), port_name(lab, link.b), link.rate_bps, link.length_mm});
  write_limits(file, result);
  write_headroom(file, result);
  store::insert_rows(file, result.fault_times);
  write_event_totals(file, result);
  store::Inserter<store::LosslessLossRow> losses(file);
  for (const LosslessLoss& each : lossless_losses(lab, result)) losses.add(loss_row(each));
}

}  // namespace weft::lab
