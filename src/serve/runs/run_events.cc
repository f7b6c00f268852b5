#include "serve/runs/run_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/figures.h"
#include "base/plural.h"
#include "results/explain_parts.h"
#include "serve/runs/flow_names.h"

namespace weft::serve {

namespace {

std::string bytes_of(const lab::SqliteRows& rows, int column) {
  return size_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, rows.integer(column))));
}

class EventReader {
 public:
  EventReader(OpenRun& run, const TimeWindow& window, const std::set<std::string>& kinds)
      : run_(run), names_(run), window_(window), kinds_(kinds) {
    lab::SqliteRows senders(run_.file(), "SELECT port, peer, qpn, peer_qpn FROM sender WHERE NOT replies ORDER BY id");
    while (senders.next()) {
      const auto qpn = senders.integer(2), peer_qpn = senders.integer(3);
      peer_qpns_.try_emplace({senders.text(0), qpn}, peer_qpn);
      sender_qpns_.try_emplace({senders.text(0), senders.text(1), peer_qpn}, qpn);
    }
    lab::SqliteRows links(run_.file(), "SELECT port, peer FROM link ORDER BY rowid");
    while (links.next()) peers_.try_emplace(links.text(0), links.text(1));
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

  void read_noted() {
    lab::SqliteRows rows(run_.file(),
                         "SELECT rowid, first_ps, last_ps, count, kind, port, peer, queue, queue_B, source, "
                         "destination, qpn, psn, before_bps, to_bps FROM event ORDER BY rowid");
    while (rows.next()) {
      RunEvent event;
      event.id = fmt::format("e{}", rows.integer(0));
      event.time_ps = rows.integer(1);
      event.last_ps = rows.integer(2);
      event.count = static_cast<std::uint64_t>(rows.integer(3));
      event.kind = rows.text(4);
      event.port = rows.text(5);
      event.text = text_of_noted(rows, event);
      event.flow = flow_of_noted(rows, event);
      event.frame = frame_of_noted(rows, event);
      add(std::move(event));
    }
  }

  static std::string text_of_noted(const lab::SqliteRows& rows, const RunEvent& event) {
    const std::string peer = rows.text(6);
    if (event.kind == "ce_mark")
      return fmt::format("{} in queue {}, which held up to {}", counted(event.count, "CE mark"), rows.integer(7),
                         bytes_of(rows, 8));
    if (event.kind == "cnp") return fmt::format("{} to {}", counted(event.count, "CNP"), peer);
    if (event.kind == "rate_cut")
      return fmt::format("{} for {}: {} to {}", counted(event.count, "rate cut"), peer, rate_text(rows.integer(13)),
                         rate_text(rows.integer(14)));
    if (event.kind == "nak")
      return fmt::format("{} from {}, PSN {}", counted(event.count, "NAK"), peer, rows.integer(12));
    if (event.kind == "rnr") return fmt::format("{} from {}", counted(event.count, "RNR NAK"), peer);
    if (event.kind == "timeout")
      return fmt::format("{} without an answer from {}, PSN {}", counted(event.count, "timeout"), peer,
                         rows.integer(12));
    if (event.kind == "retransmission")
      return fmt::format("{} retransmitted to {}, from PSN {}", counted(event.count, "packet"), peer, rows.integer(12));
    if (event.kind == "pfc_storm")
      return fmt::format("the watchdog detects a pause storm on queue {}", rows.integer(7));
    if (event.kind == "pfc_storm_over") return fmt::format("the pause storm on queue {} has ended", rows.integer(7));
    if (event.kind == "link_down") return "link down";
    if (event.kind == "link_up") return "link up";
    return event.kind;
  }

  std::string flow_of_noted(const lab::SqliteRows& rows, const RunEvent& event) const {
    const std::int64_t qpn = rows.integer(11);
    if (event.kind == "ce_mark") return names_.of_receiver(rows.text(9), rows.text(10), qpn);
    if (event.kind == "cnp") return names_.of_receiver(rows.text(6), event.port, qpn);
    return qpn == 0 ? "" : names_.of_sender(event.port, qpn);
  }

  EventFrame frame_of_noted(const lab::SqliteRows& rows, const RunEvent& event) const {
    EventFrame frame;
    frame.port = event.port;
    frame.peer = peer_of(event.port);
    frame.destination = rows.text(6);
    frame.qp = static_cast<std::uint32_t>(rows.integer(11));
    frame.psn = static_cast<std::uint32_t>(rows.integer(12));
    if (event.kind == "ce_mark") {
      frame.kind = EventFrameKind::kMarked;
      frame.destination = rows.text(10);
    } else if (event.kind == "cnp") {
      frame.kind = EventFrameKind::kCnp;
      const auto at = sender_qpns_.find({frame.destination, event.port, rows.integer(11)});
      if (at == sender_qpns_.end()) return {};
      frame.qp = static_cast<std::uint32_t>(at->second);
    } else if (event.kind == "rate_cut") {
      frame.kind = EventFrameKind::kCnpIn;
    } else if (event.kind == "nak") {
      frame.kind = EventFrameKind::kNakIn;
    } else if (event.kind == "rnr") {
      frame.kind = EventFrameKind::kRnrIn;
    } else if (event.kind == "retransmission" || event.kind == "timeout") {
      frame.kind = EventFrameKind::kRequest;
      const auto at = peer_qpns_.find({event.port, rows.integer(11)});
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
  static std::string group_text(const lab::SqliteRows& rows, const std::string& port) {
    std::string text = fmt::format(": the priority group of {} held {}, {} of it in queue {} of {}", port,
                                   bytes_of(rows, 11), bytes_of(rows, 10), rows.integer(9), rows.text(8));
    if (rows.integer(12) > 0) text += fmt::format(", which held {}", bytes_of(rows, 12));
    return text;
  }

  // One event for each XOFF that was sent, until its end, and one for each action of the watchdog.
  void read_pauses() {
    lab::SqliteRows rows(
        run_.file(),
        fmt::format(
            "SELECT rowid, time_ps, port, classes, sent, what, state, coalesce(nic_cause, ''), "
            "coalesce(queue_port, ''), coalesce(queue, -1), coalesce(queue_B, 0), coalesce(group_B, 0), {} FROM "
            "pause_event ORDER BY rowid",
            lab::has_column(run_.file(), "pause_event", "egress_B") ? "coalesce(egress_B, 0)" : "0")
            .c_str());
    std::map<std::pair<std::string, std::int64_t>, RunEvent> open;  // by port and class
    while (rows.next()) {
      const std::string port = rows.text(2), state = rows.text(6);
      const Time_ps time_ps = rows.integer(1);
      const std::int64_t classes = rows.integer(3);
      const auto event_of = [&](const char* kind) {
        return RunEvent{fmt::format("p{}", rows.integer(0)), time_ps, time_ps, 1, kind, port, rows.text(5), ""};
      };
      if (state == "watchdog") add(event_of("watchdog"));
      if (rows.integer(4) == 0) continue;
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
        if (!rows.text(8).empty()) event.text += group_text(rows, port);
        if (!rows.text(7).empty()) event.text += ": " + rows.text(7);
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
    const bool has_counts = lab::has_column(run_.file(), "drop_record", "count");
    lab::SqliteRows rows(
        run_.file(),
        fmt::format("SELECT rowid, node, time_ps, coalesce(out_port, in_port, ''), queue, reason, occupancy_B, source, "
                    "destination, dest_qp, psn, {} FROM drop_record ORDER BY rowid",
                    has_counts ? "last_ps, count" : "time_ps, 1")
            .c_str());
    while (rows.next()) {
      RunEvent event;
      event.id = fmt::format("d{}", rows.integer(0));
      event.time_ps = rows.integer(2);
      event.last_ps = rows.integer(11);
      event.count = static_cast<std::uint64_t>(std::max<std::int64_t>(1, rows.integer(12)));
      event.kind = "drop";
      event.port = rows.text(1) + (rows.text(3).empty() ? "" : ":" + rows.text(3));
      event.text = fmt::format("{}: {} to {}, PSN {}; queue {} held {}", rows.text(5), rows.text(7), rows.text(8),
                               rows.integer(10), rows.integer(4), bytes_of(rows, 6));
      event.flow = names_.of_receiver(rows.text(7), rows.text(8), rows.integer(9));
      event.frame = {EventFrameKind::kLost,
                     event.port,
                     "",
                     rows.text(8),
                     static_cast<std::uint32_t>(rows.integer(9)),
                     static_cast<std::uint32_t>(rows.integer(10)),
                     0,
                     ""};
      add(std::move(event));
    }
  }

  // One event for each fault that took effect, until its end.
  void read_faults() {
    if (!run_.has_table("fault_time")) return;  // an older run
    lab::SqliteRows rows(run_.file(),
                         "SELECT rowid, name, action, port, peer, from_ps, to_ps, hits FROM fault_time ORDER BY rowid");
    while (rows.next()) {
      RunEvent event;
      event.id = fmt::format("f{}", rows.integer(0));
      event.time_ps = rows.integer(5);
      event.last_ps = rows.integer(6);
      event.kind = "fault";
      event.port = rows.text(3);
      const std::string name = rows.text(1), action = rows.text(2);
      event.text = name.starts_with(action) ? name : fmt::format("{} ({})", name, action);
      event.text += fmt::format(" between {} and {}", event.port, rows.text(4));
      if (const std::int64_t hits = rows.integer(7); hits > 0)
        event.text += fmt::format(", {} hit", counted(static_cast<std::uint64_t>(hits), "frame"));
      event.frame = {EventFrameKind::kFault, event.port, rows.text(4), "", 0, 0, 0, name};
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
  lab::SqliteRows rows(run.file(), run.has_table("event_total") ? "SELECT kind, count FROM event_total"
                                                                : "SELECT kind, sum(count) FROM event GROUP BY kind");
  while (rows.next()) totals[rows.text(0)] = static_cast<std::uint64_t>(std::max<std::int64_t>(0, rows.integer(1)));
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
