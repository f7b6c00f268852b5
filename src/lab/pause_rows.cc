#include "lab/pause_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::lab {

namespace {

void add(std::vector<PauseRow>& rows, const fabric::PauseEvent& event, const std::string& port,
         const std::string& peer) {
  auto bit = static_cast<std::uint8_t>(1u << event.pause_class);
  if (!rows.empty()) {
    PauseRow& last = rows.back();
    if (last.time_ps == event.time_ps && last.port == port && last.sent == event.sent && last.what == event.what) {
      last.classes |= bit;
      return;
    }
  }
  rows.push_back({event.time_ps, port, peer, bit, event.sent, event.what});
}

}  // namespace

std::vector<PauseRow> merged_pauses(const RunResult& result, std::uint64_t& left_out) {
  std::vector<PauseRow> rows;
  left_out = 0;
  for (const PortOutcome& port : result.ports) {
    for (const fabric::PauseEvent& event : port.pauses.records) add(rows, event, port.name, port.peer);
    left_out += port.pauses.total - port.pauses.records.size();
  }
  for (const SwitchOutcome& each : result.switches) {
    for (const fabric::PauseEvent& event : each.pauses.records) {
      const SwitchPortOutcome& port = each.ports[event.port];
      add(rows, event, each.config->name + ":" + port.name, port.peer);
    }
    left_out += each.pauses.total - each.pauses.records.size();
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const PauseRow& a, const PauseRow& b) { return a.time_ps < b.time_ps; });
  return rows;
}

std::string pause_text(const PauseRow& row) {
  using fabric::PauseEnd;
  if (row.what == PauseEnd::kStart) return fmt::format("{} {}", row.sent ? "XOFF sent to" : "stopped by", row.peer);
  if (row.what == PauseEnd::kXon) return fmt::format("{} {}", row.sent ? "XON sent to" : "released by", row.peer);
  std::string_view why = row.what == PauseEnd::kExpired    ? "the pause timer ran out"
                         : row.what == PauseEnd::kLinkDown ? "the link went down"
                                                           : "the PFC watchdog stepped in";
  return fmt::format("{}: {}", row.sent ? "no longer stops " + row.peer : "free again", why);
}

std::string classes_text(std::uint8_t classes) {
  if (classes == 0xff) return "all";
  std::string text;
  for (unsigned c = 0; c < fabric::kClasses; ++c) {
    if (classes >> c & 1) text += fmt::format("{}{}", text.empty() ? "" : " ", c);
  }
  return text;
}

}  // namespace weft::lab
