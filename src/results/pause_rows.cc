#include "results/pause_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace weft::lab {

namespace {

// An event and where it was: the switch, or none, and the port.
struct Found {
  const fabric::PauseEvent* event;
  const SwitchOutcome* device;
  const PortOutcome* nic;
};

PauseRow row_of(const Found& found) {
  const fabric::PauseEvent& event = *found.event;
  PauseRow row;
  row.time_ps = event.time_ps;
  row.classes = static_cast<std::uint8_t>(1u << event.pause_class);
  row.sent = event.sent;
  row.what = event.what;
  const bool xoff = event.sent && event.what == fabric::PauseEnd::kStart;
  if (found.nic != nullptr) {
    row.port = found.nic->name;
    row.peer = found.nic->peer;
    static constexpr const char* kCauses[] = {"receive buffer", "slow memory", "storm"};
    if (xoff) row.nic_cause = kCauses[static_cast<std::size_t>(event.nic_cause)];
  } else {
    row.port = found.device->config->name + ":" + found.device->ports[event.port].name;
    row.peer = found.device->ports[event.port].peer;
    if (xoff && event.queue_port < found.device->ports.size()) {
      row.queue_port = found.device->config->name + ":" + found.device->ports[event.queue_port].name;
      row.queue = event.queue;
      row.queue_B = event.queue_B;
      row.group_B = event.group_B;
      row.egress_B = event.egress_B;
    }
  }
  return row;
}

bool is_one_row(const PauseRow& a, const PauseRow& b) {
  return a.time_ps == b.time_ps && a.port == b.port && a.sent == b.sent && a.what == b.what;
}

// Pauses that are open where a log ends had their end after it: each gets one there. `full` has nodes and NIC ports.
void close_at_log_end(const std::set<std::string>& full, bool all_full, std::vector<PauseRow>& rows) {
  const auto log_of = [&](const std::string& port) {
    return full.contains(port) ? port : port.substr(0, port.find(':'));
  };
  std::map<std::pair<std::string, bool>, PauseRow> open;
  std::map<std::string, Time_ps> last_ps;
  for (const PauseRow& row : rows) {
    last_ps[log_of(row.port)] = row.time_ps;
    PauseRow& each = open.try_emplace({row.port, row.sent}).first->second;
    each.port = row.port;
    each.peer = row.peer;
    each.classes = static_cast<std::uint8_t>(row.what == fabric::PauseEnd::kStart ? each.classes | row.classes
                                                                                  : each.classes & ~row.classes);
  }
  const Time_ps end_ps = rows.empty() ? 0 : rows.back().time_ps;
  for (auto& [key, row] : open) {
    const std::string log = log_of(row.port);
    if (row.classes == 0 || (!all_full && !full.contains(log))) continue;
    row.sent = key.second;
    row.what = fabric::PauseEnd::kLogFull;
    row.time_ps = full.contains(log) ? last_ps[log] : end_ps;
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const PauseRow& a, const PauseRow& b) { return a.time_ps < b.time_ps; });
}

}  // namespace

std::vector<PauseRow> merged_pauses(const RunResult& result, std::uint64_t& left_out) {
  std::vector<Found> all;
  std::set<std::string> full;
  left_out = 0;
  for (const PortOutcome& port : result.ports) {
    for (const fabric::PauseEvent& event : port.pauses.records) all.push_back({&event, nullptr, &port});
    left_out += port.pauses.total - port.pauses.records.size();
    if (port.pauses.total > port.pauses.records.size()) full.insert(port.name);
  }
  for (const SwitchOutcome& each : result.switches) {
    for (const fabric::PauseEvent& event : each.pauses.records) all.push_back({&event, &each, nullptr});
    left_out += each.pauses.total - each.pauses.records.size();
    if (each.pauses.total > each.pauses.records.size()) full.insert(each.config->name);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Found& a, const Found& b) { return a.event->time_ps < b.event->time_ps; });
  std::vector<PauseRow> rows;
  bool list_is_full = false;
  for (const Found& found : all) {
    PauseRow row = row_of(found);
    if (!rows.empty() && is_one_row(rows.back(), row)) {
      rows.back().classes |= row.classes;
    } else if (rows.size() < kMostPauseRows) {
      rows.push_back(std::move(row));
    } else {
      ++left_out;
      list_is_full = true;
    }
  }
  if (left_out > 0) close_at_log_end(full, list_is_full, rows);
  return rows;
}

std::string pause_text(const PauseRow& row) {
  using fabric::PauseEnd;
  if (row.what == PauseEnd::kStart) return fmt::format("{} {}", row.sent ? "XOFF sent to" : "stopped by", row.peer);
  if (row.what == PauseEnd::kXon) return fmt::format("{} {}", row.sent ? "XON sent to" : "released by", row.peer);
  if (row.what == PauseEnd::kLogFull) return "the pause log was full: when it ended is not known";
  std::string_view why = row.what == PauseEnd::kExpired    ? "the pause timer ran out"
                         : row.what == PauseEnd::kLinkDown ? "the link went down"
                                                           : "the PFC watchdog stepped in";
  return fmt::format("{}: {}", row.sent ? "no longer stops " + row.peer : "free again", why);
}

const char* pause_state(fabric::PauseEnd what) {
  static constexpr const char* kWords[] = {"start", "xon", "expired", "link down", "watchdog", "log full"};
  return kWords[static_cast<std::size_t>(what)];
}

std::string classes_text(std::uint8_t classes) {
  if (classes == 0xff) return "all";
  std::string text;
  for (unsigned c = 0; c < fabric::kClasses; ++c) {
    if (classes >> c & 1) text += fmt::format("{}{}", text.empty() ? "" : " ", c);
  }
  return text;
}

store::PauseEventRow pause_event(const PauseRow& row) {
  store::PauseEventRow event{
      row.time_ps, row.port, row.peer, row.classes, row.sent, pause_text(row), pause_state(row.what), {},
      {},          {},       {},       {},          {}};
  if (!row.nic_cause.empty()) event.nic_cause = row.nic_cause;
  if (row.queue_port.empty()) return event;
  event.queue_port = row.queue_port;
  event.queue = row.queue;
  event.queue_B = row.queue_B;
  event.group_B = row.group_B;
  event.egress_B = row.egress_B;
  return event;
}

}  // namespace weft::lab
