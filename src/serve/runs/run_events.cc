#include "serve/runs/run_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/figures.h"
#include "base/plural.h"
#include "results/evidence_rows.h"
#include "results/explain_parts.h"
#include "serve/runs/flow_names.h"
#include "store/rows/fabric_rows.h"
#include "store/table.h"

namespace weft::serve {

namespace {

std::string bytes_of(std::uint64_t size_B) {
  return size_text(std::min<std::uint64_t>(size_B, INT64_MAX));
}

class EventReader {
 public:
  EventReader(OpenRun& run, const TimeWindow& window, const std::set<std::string>& kinds)
      : run_(run), names_(run), window_(window), kinds_(kinds) {
    using Sender = lab::SenderEvidence;
    for (const Sender& row : store::Reader<Sender, &Sender::from, &Sender::to, &Sender::qpn, &Sender::peer_qpn>(
             run_.file(), "WHERE NOT replies ORDER BY id")) {
      peer_qpns_.try_emplace({row.from, row.qpn}, row.peer_qpn);
      sender_qpns_.try_emplace({row.from, row.to, row.peer_qpn}, row.qpn);
    }
    using Link = lab::LinkEvidence;
    for (const Link& row : store::Reader<Link, &Link::from, &Link::to>(run_.file()))
      peers_.try_emplace(row.from, row.to);
  }

  RunEvents read() {
    read_noted();
    read_pauses();
    read_drops();
    read_faults();
    for (const auto& [kind, count] : event_totals(run_)) out_.kinds[kind] = count;
    std::stable_sort(out_.events.begin(), out_.events.end(),
                     [](const RunEvent& a, const RunEvent& b) { return a.time_ps < b.time_ps; });
    return std::move(out_);
  }

 private:
  void add(RunEvent event) {
    out_.kinds[event.kind] += event.count;
    if (event.last_ps < window_.from_ps || event.time_ps >= window_.to_ps) return;
    if (kinds_.empty() || kinds_.contains(event.kind)) out_.events.push_back(std::move(event));
  }

  // Rows are numbered from 1 in the order in which they were written.
  void read_noted() {
    std::uint64_t number = 0;
    for (const lab::EventEvidence& row : store::Reader<lab::EventEvidence>(run_.file())) {
      RunEvent event;
      event.id = fmt::format("e{}", ++number);
      event.time_ps = row.first_ps;
      event.last_ps = row.last_ps;
      event.count = row.count;
      event.kind = row.kind;
      event.port = row.port;
      event.text = text_of_noted(row);
      event.flow = flow_of_noted(row);
      event.frame = frame_of_noted(row);
      add(std::move(event));
    }
  }

  static std::string text_of_noted(const lab::EventEvidence& row) {
    if (row.kind == "ce_mark")
      return fmt::format("{} in queue {}, which held up to {}", counted(row.count, "CE mark"), row.queue,
                         bytes_of(row.queue_B));
    if (row.kind == "cnp") return fmt::format("{} to {}", counted(row.count, "CNP"), row.peer);
    if (row.kind == "rate_cut")
      return fmt::format("{} for {}: {} to {}", counted(row.count, "rate cut"), row.peer, rate_text(row.before_bps),
                         rate_text(row.to_bps));
    if (row.kind == "nak") return fmt::format("{} from {}, PSN {}", counted(row.count, "NAK"), row.peer, row.psn);
    if (row.kind == "rnr") return fmt::format("{} from {}", counted(row.count, "RNR NAK"), row.peer);
    if (row.kind == "timeout")
      return fmt::format("{} without an answer from {}, PSN {}", counted(row.count, "timeout"), row.peer, row.psn);
    if (row.kind == "retransmission")
      return fmt::format("{} retransmitted to {}, from PSN {}", counted(row.count, "packet"), row.peer, row.psn);
    if (row.kind == "pfc_storm") return fmt::format("the watchdog detects a pause storm on queue {}", row.queue);
    if (row.kind == "pfc_storm_over") return fmt::format("the pause storm on queue {} has ended", row.queue);
    if (row.kind == "link_down") return "link down";
    if (row.kind == "link_up") return "link up";
    return row.kind;
  }

  std::string flow_of_noted(const lab::EventEvidence& row) const {
    if (row.kind == "ce_mark") return names_.of_receiver(row.source, row.destination, row.qpn);
    if (row.kind == "cnp") return names_.of_receiver(row.peer, row.port, row.qpn);
    return row.qpn == 0 ? "" : names_.of_sender(row.port, row.qpn);
  }

  EventFrame frame_of_noted(const lab::EventEvidence& row) const {
    EventFrame frame;
    frame.port = row.port;
    frame.peer = peer_of(row.port);
    frame.destination = row.peer;
    frame.qp = row.qpn;
    frame.psn = row.psn;
    if (row.kind == "ce_mark") {
      frame.kind = EventFrameKind::kMarked;
      frame.destination = row.destination;
    } else if (row.kind == "cnp") {
      frame.kind = EventFrameKind::kCnp;
      const auto at = sender_qpns_.find({frame.destination, row.port, row.qpn});
      if (at == sender_qpns_.end()) return {};
      frame.qp = static_cast<std::uint32_t>(at->second);
    } else if (row.kind == "rate_cut") {
      frame.kind = EventFrameKind::kCnpIn;
    } else if (row.kind == "nak") {
      frame.kind = EventFrameKind::kNakIn;
    } else if (row.kind == "rnr") {
      frame.kind = EventFrameKind::kRnrIn;
    } else if (row.kind == "retransmission" || row.kind == "timeout") {
      frame.kind = EventFrameKind::kRequest;
      const auto at = peer_qpns_.find({row.port, row.qpn});
      if (at == peer_qpns_.end()) return {};
      frame.qp = static_cast<std::uint32_t>(at->second);
    }
    return frame;
  }
  std::string peer_of(const std::string& port) const {
    const auto at = peers_.find(port);
    return at == peers_.end() ? "" : at->second;
  }

  // Fill of the priority group of the ingress port, and the egress queue that it waited for.
  static std::string group_text(const store::PauseEventRow& row) {
    std::string text = fmt::format(": the priority group of {} held {}, {} of it in queue {} of {}", row.port,
                                   bytes_of(row.group_B.value_or(0)), bytes_of(row.queue_B.value_or(0)),
                                   row.queue.value_or(-1), row.queue_port.value_or(""));
    if (row.egress_B.value_or(0) > 0) text += fmt::format(", which held {}", bytes_of(*row.egress_B));
    return text;
  }

  // One event for each XOFF that was sent, until its end, and one for each action of the watchdog.
  void read_pauses() {
    std::uint64_t number = 0;
    std::map<std::pair<std::string, std::int64_t>, RunEvent> open;  // by port and class
    for (const store::PauseEventRow& row : store::Reader<store::PauseEventRow>(run_.file())) {
      const std::string &port = row.port, &state = row.state;
      const Time_ps time_ps = row.time_ps;
      const std::int64_t classes = row.classes;
      ++number;
      const auto event_of = [&](const char* kind) {
        return RunEvent{fmt::format("p{}", number), time_ps, time_ps, 1, kind, port, row.what, ""};
      };
      if (state == "watchdog") add(event_of("watchdog"));
      if (!row.sent) continue;
      for (std::int64_t c = 0; c < 8; ++c) {
        if ((classes >> c & 1) == 0) continue;
        if (const auto at = open.find({port, c}); at != open.end()) {
          at->second.last_ps = time_ps;
          add(std::move(at->second));
          open.erase(at);
        }
        if (state != "start") continue;
        RunEvent event = event_of("pause");
        event.text += fmt::format(", class {}", c);
        if (row.queue_port) event.text += group_text(row);
        if (row.nic_cause) event.text += ": " + *row.nic_cause;
        event.frame = {EventFrameKind::kPause, port, peer_of(port), "", 0, 0, static_cast<int>(c), ""};
        if (c > 0 && classes != 1 << c) event.id += fmt::format(".{}", c);
        open.emplace(std::pair(port, c), std::move(event));
      }
    }
    for (auto& [key, event] : open) {
      event.last_ps = std::max(event.time_ps, run_.end_ps());
      add(std::move(event));
    }
  }

  void read_drops() {
    std::uint64_t number = 0;
    for (const store::DropRow& row : store::Reader<store::DropRow>(run_.file())) {
      const std::string port = row.out_port.value_or(row.in_port);
      RunEvent event;
      event.id = fmt::format("d{}", ++number);
      event.time_ps = row.time_ps;
      event.last_ps = std::max(row.time_ps, row.last_ps);
      event.count = std::max<std::uint64_t>(1, row.count);
      event.kind = "drop";
      event.port = row.node + (port.empty() ? "" : ":" + port);
      event.text = fmt::format("{}: {} to {}, PSN {}; queue {} held {}", row.reason, row.source, row.destination,
                               row.psn, row.queue, bytes_of(row.occupancy_B));
      event.flow = names_.of_receiver(row.source, row.destination, row.dest_qp);
      event.frame = {EventFrameKind::kLost, event.port, "", row.destination, row.dest_qp, row.psn, 0, ""};
      add(std::move(event));
    }
  }

  // One event for each fault that took effect, until its end.
  void read_faults() {
    std::uint64_t number = 0;
    for (const lab::FaultTime& row : store::Reader<lab::FaultTime>(run_.file())) {
      RunEvent event;
      event.id = fmt::format("f{}", ++number);
      event.time_ps = row.from_ps;
      event.last_ps = row.to_ps;
      event.kind = "fault";
      event.port = row.port;
      event.text = row.name.starts_with(row.action) ? row.name : fmt::format("{} ({})", row.name, row.action);
      event.text += fmt::format(" between {} and {}", event.port, row.peer);
      if (row.hits > 0) event.text += fmt::format(", {} hit", counted(row.hits, "frame"));
      event.frame = {EventFrameKind::kFault, event.port, row.peer, "", 0, 0, 0, row.name};
      add(std::move(event));
    }
  }

  OpenRun& run_;
  FlowNames names_;
  TimeWindow window_;
  const std::set<std::string>& kinds_;
  std::map<std::string, std::string> peers_;                                // by port: the cable's other end
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> peer_qpns_;  // by port and QP that sends
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::int64_t> sender_qpns_;  // by from, to, QP at `to`
  RunEvents out_;
};

}  // namespace

std::map<std::string, std::uint64_t> event_totals(OpenRun& run) {
  std::map<std::string, std::uint64_t> totals;
  if (run.has_table("event_total")) {
    for (const store::EventTotalRow& row : store::Reader<store::EventTotalRow>(run.file()))
      totals[row.kind] = row.count;
  } else {
    for (const lab::EventEvidence& row : store::Reader<lab::EventEvidence>(run.file())) totals[row.kind] += row.count;
  }
  return totals;
}

RunEvents read_events(OpenRun& run, const TimeWindow& window, const std::set<std::string>& kinds) {
  return EventReader(run, window, kinds).read();
}

std::uint64_t thin_events(std::vector<RunEvent>& events, const TimeWindow& window, std::size_t limit) {
  if (events.size() <= limit) return 0;
  std::map<std::string, std::size_t> counts;
  for (const RunEvent& event : events) ++counts[event.kind];
  // Rare kinds keep all of their events; the remaining limit is shared by the others.
  std::vector<std::size_t> sizes;
  for (const auto& [kind, count] : counts) sizes.push_back(count);
  std::sort(sizes.begin(), sizes.end());
  std::size_t left = limit, share = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    share = std::max<std::size_t>(1, left / (sizes.size() - i));
    if (sizes[i] > share) break;
    left -= std::min(left, sizes[i]);
  }
  const auto width = static_cast<__uint128_t>(window.to_ps - window.from_ps);
  std::map<std::string, std::pair<std::size_t, std::size_t>>
      last;  // by kind: the part of the time, the place in `kept`
  std::vector<RunEvent> kept;
  for (RunEvent& event : events) {
    if (counts[event.kind] > share) {
      const auto since = static_cast<__uint128_t>(std::max<Time_ps>(0, event.time_ps - window.from_ps));
      const auto part = std::min(share - 1, static_cast<std::size_t>(since * share / width));
      const auto [at, is_first] = last.try_emplace(event.kind, part, kept.size());
      if (!is_first && at->second.first == part) {
        RunEvent& into = kept[at->second.second];
        into.count += event.count;
        into.last_ps = std::max(into.last_ps, event.last_ps);
        continue;
      }
      at->second = {part, kept.size()};
    }
    kept.push_back(std::move(event));
  }
  if (kept.size() > limit) kept.resize(limit);  // more kinds than events
  const std::uint64_t left_out = events.size() - kept.size();
  events = std::move(kept);
  return left_out;
}

}  // namespace weft::serve
