// Incidents: everything that began at one queue, one NIC or one link, in order of time, down to who suffered from it.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/figures.h"
#include "base/plural.h"
#include "results/explain_parts.h"
#include "results/report_text.h"

namespace weft::lab {
namespace {

class Builder {
 public:
  Builder(const ExplainContext& context, const FlowIndex& flows) : context_(context), flows_(flows) {}

  std::vector<Incident> all();

 private:
  struct Begun {
    std::string root;
    std::vector<std::size_t> stops;
    std::vector<const EventEvidence*> marks;
    std::vector<const DropEvidence*> drops;
  };
  Begun& begun(const std::string& root);
  void collect();
  Incident incident(const Begun& begun) const;
  void add_root(const Begun& begun, Incident& out) const;
  void add_capacity(const Begun& begun, const std::vector<const FlowAnswer*>& passing, Incident& out) const;
  void add_marks(const Begun& begun, Incident& out) const;
  void add_pauses(const Begun& begun, Incident& out) const;
  void add_drops(const Begun& begun, Incident& out) const;
  void add_watchdog(const Begun& begun, Incident& out) const;
  void add_victims(const Begun& begun, Incident& out) const;
  static Time_ps first_drop_ps(const Begun& begun);

  const ExplainContext& context_;
  const FlowIndex& flows_;
  std::vector<Begun> begun_;
  std::unordered_map<std::string, std::size_t> begun_at_;  // by root
};

Builder::Begun& Builder::begun(const std::string& root) {
  const auto [at, made] = begun_at_.emplace(root, begun_.size());
  if (made) begun_.push_back({root, {}, {}, {}});
  return begun_[at->second];
}

void Builder::collect() {
  const std::vector<Stop>& stops = context_.tree.stops();
  for (std::size_t i = 0; i < stops.size(); ++i) {
    if (!stops[i].circular && !stops[i].unknown)
      begun(stops[i].root.empty() ? stops[i].by : stops[i].root).stops.push_back(i);
  }
  for (const EventEvidence& event : context_.evidence.events) {
    if (event.kind == "ce_mark") begun(event.port).marks.push_back(&event);
  }
  for (const DropEvidence& drop : context_.evidence.drops) {
    if (drop.reason == "FCS error" || drop.out_port.empty() || drop.reason == "port down") continue;
    // What the watchdog throws away is of whoever had stopped the queue.
    const bool watchdog = drop.reason == "PFC watchdog";
    const bool in_circle = std::any_of(context_.circles.begin(), context_.circles.end(),
                                       [&](const StopCircle& circle) { return is_in(circle, drop.out_port); });
    if (watchdog && in_circle) continue;  // told there
    const std::string root = watchdog ? context_.tree.longest(drop.out_port, 0, kNever_ps).root : "";
    begun(root.empty() ? drop.out_port : root).drops.push_back(&drop);
  }
}

void Builder::add_root(const Begun& begun, Incident& out) const {
  ChainStep step;
  step.what = "queue";
  step.where = begun.root;
  std::uint64_t queue_B = 0;
  int queue = -1;
  Time_ps first_ps = kNever_ps;
  std::string nic_cause;
  bool recorded = true;
  for (std::size_t i : begun.stops) {
    const Stop& stop = context_.tree.stops()[i];
    if (stop.level > 0) continue;
    if (stop.from_ps < first_ps) {
      first_ps = stop.from_ps;
      queue_B = stop.egress_B;
      queue = stop.queue;
    }
    if (nic_cause.empty()) nic_cause = stop.nic_cause;
    recorded = recorded && (!stop.queue_port.empty() || !stop.nic_cause.empty());
  }
  for (const EventEvidence* mark : begun.marks) {
    if (mark->first_ps > first_ps) continue;
    first_ps = mark->first_ps;
    queue_B = 0;  // that of the mark is the longest of many
    queue = mark->queue;
  }
  for (const DropEvidence* drop : begun.drops) {
    if (drop->first_ps > first_ps) continue;
    first_ps = drop->first_ps;
    queue_B = drop->queue_B;
    queue = drop->queue;
  }
  step.time_ps = step.last_ps = first_ps;
  if (!nic_cause.empty()) {
    out.kind = nic_cause == "storm" ? "storm" : "receiver";
    step.text = receiver_text(context_, begun.root, nic_cause);
    out.title = step.text;
  } else if (!recorded) {
    out.kind = "congestion";
    step.text = begun.root + " stops its peer; which queue was behind it was not recorded";
    out.title = step.text;
  } else {
    out.kind = "congestion";
    std::set<std::string> sources;
    for (const FlowAnswer* flow : flows_.through(begun.root)) sources.insert(flow->from);
    step.text = fmt::format("queue {} of {} fills", queue, link_name(context_, begun.root));
    if (queue_B > 0) step.text += fmt::format(" ({})", size_text(queue_B));
    if (sources.size() > 1) step.text += fmt::format(": {} ports send through it", sources.size());
    out.title = fmt::format("congestion at {}", queue_text(context_, begun.root));
    // It has dropped there, where others pause.
    const bool lossy = std::any_of(begun.drops.begin(), begun.drops.end(), [&](const DropEvidence* drop) {
      return std::any_of(
          context_.evidence.lossy_classes.begin(), context_.evidence.lossy_classes.end(),
          [&](const LossyClassEvidence& each) { return each.node == drop->node && each.queue == drop->queue; });
    });
    if (lossy) out.title = class_text(context_, begun.root) + "; " + out.title;
  }
  out.steps.push_back(std::move(step));
}

void Builder::add_capacity(const Begun& begun, const std::vector<const FlowAnswer*>& passing, Incident& out) const {
  if (out.kind != "congestion") return;
  const auto cause = capacity_cause(context_, begun.root, passing, !begun.stops.empty(), !begun.drops.empty());
  if (!cause) return;
  out.title += ": " + cause->title;
  ChainStep step;
  step.what = "capacity";
  step.where = begun.root;
  step.time_ps = step.last_ps = out.steps.front().time_ps;
  step.text = cause->step;
  out.steps.push_back(std::move(step));
}

void Builder::add_marks(const Begun& begun, Incident& out) const {
  if (begun.marks.empty()) return;
  ChainStep step;
  step.what = "ce_mark";
  step.where = begun.root;
  step.count = 0;
  std::uint64_t queue_B = 0;
  for (const EventEvidence* mark : begun.marks) {
    step.count += mark->count;
    step.last_ps = std::max(step.last_ps, mark->last_ps);
    queue_B = std::max(queue_B, mark->queue_B);
  }
  // The log may have had no room for all of them; the port has counted them.
  if (const auto link = context_.link_of.find(begun.root); link != context_.link_of.end())
    step.count = std::max(step.count, link->second->marked);
  const EventEvidence& first = *begun.marks.front();
  step.time_ps = first.first_ps;
  step.port = begun.root;
  step.qpn = first.qpn;
  step.psn = first.psn;
  step.text = fmt::format("{} marks {} CE, queue up to {}; the first from {} to {}", begun.root,
                          counted(step.count, "packet"), size_text(queue_B), first.source, first.destination);
  out.steps.push_back(std::move(step));
}

// What the priority group held that sent XOFF, and the egress queue that it waited for.
std::string group_text(const Stop& stop) {
  std::string out =
      fmt::format("the priority group of {} holds {}, {} of it in {}queue {} of {}", stop.by, size_text(stop.group_B),
                  size_text(stop.queue_B), stop.level > 0 ? "the stopped " : "", stop.queue, stop.queue_port);
  if (stop.egress_B > 0) out += fmt::format(", which holds {}", size_text(stop.egress_B));
  return out;
}

void Builder::add_pauses(const Begun& begun, Incident& out) const {
  struct Level {
    ChainStep step;
    std::vector<std::string> stopped;
    Time_ps time_ps = 0;
  };
  const std::uint64_t left_out = context_.evidence.pauses_left_out;
  std::map<std::size_t, Level> levels;
  for (std::size_t i : begun.stops) {
    const Stop& stop = context_.tree.stops()[i];
    Level& level = levels[stop.level];
    if (level.stopped.empty()) {
      level.step.what = stop.level == 0 ? "pause" : "pause_upstream";
      level.step.where = level.step.port = stop.by;
      level.step.time_ps = stop.from_ps;
      level.step.count = 0;
      level.step.text = fmt::format(
          "{} stops {} (class {})", stop.by, stop.stopped, stop.classes == 0xff ? std::string("all") : [&] {
            std::string list;
            for (unsigned c = 0; c < 8; ++c) {
              if (stop.classes >> c & 1) list += (list.empty() ? "" : " ") + std::to_string(c);
            }
            return list;
          }());
      if (!stop.queue_port.empty()) level.step.text += ": " + group_text(stop);
    }
    ++level.step.count;
    level.step.last_ps = std::max(level.step.last_ps, stop.to_ps);
    level.time_ps += std::max<Time_ps>(0, stop.to_ps - std::max(stop.from_ps, context_.evidence.from_ps));
    if (std::find(level.stopped.begin(), level.stopped.end(), stop.stopped) == level.stopped.end())
      level.stopped.push_back(stop.stopped);
  }
  for (auto& [number, level] : levels) {
    if (level.step.count > 1)
      level.step.text += fmt::format("; {}{} of {}, {} in all", at_least(left_out), counted(level.step.count, "pause"),
                                     list_text(level.stopped), time_text(level.time_ps));
    out.weight += static_cast<double>(level.time_ps);
    out.steps.push_back(level.step);
  }
}

void Builder::add_drops(const Begun& begun, Incident& out) const {
  for (const DropEvidence* drop : begun.drops) {
    ChainStep step;
    step.what = "drop";
    step.where = step.port = drop->out_port;
    step.time_ps = drop->first_ps;
    step.last_ps = drop->last_ps;
    step.count = drop->count;
    step.qpn = drop->qpn;
    step.psn = drop->psn;
    step.text = fmt::format("{} drops {}{} ({}), queue {} up to {}; the first from {} to {}", node_name(drop->node),
                            at_least(context_.evidence.left_out), counted(drop->count, "packet"), drop->reason,
                            drop->queue, size_text(drop->queue_B), drop->source, drop->destination);
    out.weight += 1e7 * static_cast<double>(drop->count);
    out.steps.push_back(std::move(step));
  }
}

void Builder::add_watchdog(const Begun& begun, Incident& out) const {
  std::set<std::string> stopped;
  for (std::size_t i : begun.stops) stopped.insert(context_.tree.stops()[i].stopped);
  for (const EventEvidence& event : context_.evidence.events) {
    if (event.kind != "pfc_storm" || !stopped.contains(event.port)) continue;
    ChainStep step;
    step.what = "watchdog";
    step.where = event.port;
    step.time_ps = step.last_ps = event.first_ps;
    step.text = fmt::format("the PFC watchdog finds queue {} of {} in a storm ({} wait)", event.queue, event.port,
                            size_text(event.queue_B));
    out.steps.push_back(std::move(step));
  }
}

// Flows that were stopped although they do not go where it began.
void Builder::add_victims(const Begun& begun, Incident& out) const {
  ChainStep step;
  step.what = "victim";
  step.count = 0;
  step.time_ps = kNever_ps;
  std::set<std::string_view> ports;
  for (std::size_t i : begun.stops) ports.insert(context_.tree.stops()[i].stopped);
  FlowIndex::Flows stopped;
  for (std::string_view port : ports) {
    const FlowIndex::Flows& more = flows_.passing(port);
    stopped.insert(stopped.end(), more.begin(), more.end());
  }
  for (const FlowAnswer* each : merged(std::move(stopped))) {
    const FlowAnswer& flow = *each;
    if (flow.path.empty() || goes_through(flow, begun.root)) continue;
    Time_ps stopped_ps = 0, first_ps = kNever_ps;
    std::string where;
    for (std::size_t i : begun.stops) {
      const Stop& stop = context_.tree.stops()[i];
      if (!passes(flow, stop.stopped)) continue;
      const Time_ps part_ps = std::min(flow.last_ps, stop.to_ps) - std::max(flow.first_ps, stop.from_ps);
      if (part_ps <= 0) continue;
      stopped_ps += part_ps;
      if (stop.from_ps >= first_ps) continue;
      first_ps = stop.from_ps;
      where = stop.stopped;
    }
    // Of a port's pauses those count that hold the flow up.
    if (where.empty() || static_cast<double>(stopped_ps) < 0.01 * static_cast<double>(flow.last_ps - flow.first_ps))
      continue;
    out.victims.push_back(flow.id);
    ++step.count;
    step.last_ps = std::max(step.last_ps, flow.last_ps);
    if (first_ps >= step.time_ps) continue;
    step.time_ps = std::max(first_ps, flow.first_ps);
    step.where = where;
    step.text =
        fmt::format("{} from {} to {} is stopped at {}, and does not go there", flow.id, flow.from, flow.to, where);
  }
  if (step.count == 0) return;
  if (step.count > 1) step.text += fmt::format("; {} in all", counted(step.count, "victim"));
  out.steps.push_back(std::move(step));
}

Time_ps Builder::first_drop_ps(const Begun& begun) {
  Time_ps out_ps = kNever_ps;
  for (const DropEvidence* drop : begun.drops) out_ps = std::min(out_ps, drop->first_ps);
  return out_ps;
}

Incident Builder::incident(const Begun& begun) const {
  Incident out;
  out.root = begun.root;
  add_root(begun, out);
  const std::vector<const FlowAnswer*> passing = flows_.through(begun.root);
  add_capacity(begun, passing, out);
  add_marks(begun, out);
  if (!begun.marks.empty()) add_reactions(context_, passing, begun.marks.front()->first_ps, begun.root, out);
  add_pauses(begun, out);
  add_drops(begun, out);
  if (!begun.drops.empty()) add_recoveries(context_, passing, first_drop_ps(begun), out);
  add_watchdog(begun, out);
  add_victims(begun, out);
  for (const FlowAnswer* flow : passing) out.flows.push_back(flow->id);
  for (const EventEvidence* mark : begun.marks) out.weight += 1e5 * static_cast<double>(mark->count);
  if (out.kind == "storm") out.weight *= 10;  // a defect, before what follows from load
  order_steps(out);
  return out;
}

std::vector<Incident> Builder::all() {
  collect();
  std::vector<Incident> out;
  for (const Begun& each : begun_) out.push_back(incident(each));
  return out;
}

}  // namespace

std::vector<Incident> queue_incidents(const ExplainContext& context, const FlowIndex& flows) {
  return Builder(context, flows).all();
}

}  // namespace weft::lab
