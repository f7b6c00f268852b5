#include "results/pause_tree.h"

#include <algorithm>
#include <utility>

namespace weft::lab {
namespace {

std::string node_of_port(const std::string& port) {
  return port.substr(0, port.find(':'));
}

}  // namespace

PauseTree::PauseTree(const Evidence& evidence) {
  pair_up(evidence);
  find_roots(evidence);
}

// Only what was sent: what the peer noticed of it is the same pause again.
void PauseTree::pair_up(const Evidence& evidence) {
  std::map<std::pair<std::string, unsigned>, std::size_t> open;  // by port and class
  for (const PauseEvidence& event : evidence.pauses) {
    if (!event.sent) continue;
    for (unsigned c = 0; c < 8; ++c) {
      if ((event.classes >> c & 1) == 0) continue;
      const auto known = open.find({event.port, c});
      if (event.what != "start") {
        if (known == open.end()) continue;
        stops_[known->second].to_ps = event.time_ps;
        stops_[known->second].ended = event.what;
        open.erase(known);
        continue;
      }
      if (known != open.end()) continue;
      // Classes that stop together are one.
      const bool same = !stops_.empty() && stops_.back().by == event.port && stops_.back().from_ps == event.time_ps;
      if (!same) {
        Stop& stop = stops_.emplace_back();
        stop.by = event.port;
        stop.stopped = event.peer;
        stop.from_ps = event.time_ps;
        stop.to_ps = evidence.end_ps;
        stop.queue_port = event.queue_port;
        stop.queue = event.queue;
        stop.queue_B = event.queue_B;
        stop.group_B = event.group_B;
        stop.egress_B = event.egress_B;
        stop.nic_cause = event.nic_cause;
      }
      stops_.back().classes |= 1u << c;
      open.insert_or_assign({event.port, c}, stops_.size() - 1);
    }
  }
  for (std::size_t i = 0; i < stops_.size(); ++i) of_port_[stops_[i].stopped].push_back(i);
}

std::size_t PauseTree::stop_at(const std::string& port, Time_ps at_ps, Time_ps before_ps) const {
  const auto found = of_port_.find(port);
  if (found == of_port_.end()) return SIZE_MAX;
  const std::vector<std::size_t>& list = found->second;  // in order of time
  auto after = std::upper_bound(list.begin(), list.end(), at_ps,
                                [&](Time_ps time_ps, std::size_t i) { return time_ps < stops_[i].from_ps; });
  // Of several classes one may last longer than the next.
  for (int looked = 0; after != list.begin() && looked < 8; ++looked) {
    --after;
    if (stops_[*after].to_ps >= at_ps - before_ps) return *after;
  }
  return SIZE_MAX;
}

// Causes come before their effects, except in a circle. What a queue held while it was stopped is still there as long
// as its link would take to send all that it holds.
void PauseTree::find_roots(const Evidence& evidence) {
  std::map<std::string, const LinkEvidence*> links;
  for (const LinkEvidence& link : evidence.links) links.emplace(link.from, &link);
  std::map<std::string, Time_ps> log_end_ps;
  if (evidence.pauses_left_out > 0) {
    for (const PauseEvidence& event : evidence.pauses) log_end_ps[node_of_port(event.port)] = event.time_ps;
  }
  for (Stop& stop : stops_) {
    if (stop.queue_port.empty()) continue;
    const auto link = links.find(stop.queue_port);
    Time_ps drains_ps = 0;
    if (link != links.end() && link->second->rate_bps > 0)
      drains_ps =
          static_cast<Time_ps>(static_cast<double>(stop.queue_B) * 8e12 / static_cast<double>(link->second->rate_bps));
    stop.cause = stop_at(stop.queue_port, stop.from_ps, drains_ps);
    if (stop.cause != SIZE_MAX || link == links.end() || link->second->paused_ps == 0) continue;
    const auto end = log_end_ps.find(node_of_port(link->second->to));
    stop.unknown = end != log_end_ps.end() && end->second < stop.from_ps;
  }
  for (std::size_t i = 0; i < stops_.size(); ++i) {
    std::size_t at = i, level = 0;
    while (stops_[at].cause != SIZE_MAX && level <= stops_.size()) {
      at = stops_[at].cause;
      ++level;
      if (at == i || level > 64) {
        stops_[i].circular = true;
        break;
      }
    }
    stops_[i].level = level;
    const Stop& last = stops_[at];
    stops_[i].unknown = last.unknown;
    if (last.unknown) continue;
    stops_[i].root = !last.queue_port.empty() ? last.queue_port : last.nic_cause.empty() ? "" : last.by;
  }
}

const std::vector<std::size_t>& PauseTree::of_port(const std::string& stopped) const {
  static const std::vector<std::size_t> kNone;
  const auto found = of_port_.find(stopped);
  return found == of_port_.end() ? kNone : found->second;
}

PauseTree::Share PauseTree::longest(const std::string& stopped, Time_ps from_ps, Time_ps to_ps) const {
  struct Sum {
    Time_ps time_ps = 0;
    std::size_t first = SIZE_MAX;
  };
  std::map<std::string, Sum> sums;
  Share best;
  for (std::size_t i : of_port(stopped)) {
    const Time_ps time_ps = std::min(to_ps, stops_[i].to_ps) - std::max(from_ps, stops_[i].from_ps);
    if (time_ps <= 0) continue;
    Sum& sum = sums[stops_[i].root];
    sum.time_ps += time_ps;
    sum.first = std::min(sum.first, i);
    best.all_ps += time_ps;
  }
  for (const auto& [root, sum] : sums) {
    if (sum.time_ps <= best.time_ps) continue;
    best.root = root;
    best.time_ps = sum.time_ps;
    best.stop = sum.first;
  }
  return best;
}

}  // namespace weft::lab
