#include "analyze/pauses/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace weft::analyze {
namespace {

constexpr std::int64_t kDrained_B = 16'000'000;
constexpr std::uint64_t kFewestXoffs = 4;
constexpr int kDeepest = 64;

// A NIC sends data and pauses with one address; its data is from few addresses, and no router has had it.
class HostAddresses {
 public:
  explicit HostAddresses(const Reading& reading) {
    for (StreamId id = 0; id < reading.marks.size() && id < reading.streams.size(); ++id) {
      if (!is_initial(reading.marks[id].ttl)) routers_.insert(reading.marks[id].src_mac);
      std::vector<AddressId>& sources = sources_[reading.marks[id].src_mac];
      const AddressId src = reading.streams[id].src;
      if (sources.size() < kMost && std::find(sources.begin(), sources.end(), src) == sources.end())
        sources.push_back(src);
    }
  }
  bool is_host(std::uint64_t mac) const {
    const auto found = sources_.find(mac);
    return found != sources_.end() && found->second.size() < kMost && !routers_.contains(mac);
  }

 private:
  static bool is_initial(std::uint8_t ttl) { return ttl == 64 || ttl == 128 || ttl == 255; }
  static constexpr std::size_t kMost = 5;
  std::unordered_set<std::uint64_t> routers_;
  std::unordered_map<std::uint64_t, std::vector<AddressId>> sources_;
};

void name_ends(PauseStop& stop, const PauseLanes& lanes, const Reading& reading) {
  auto name = [&](std::uint32_t lane) { return point_name(reading, lanes.lanes()[lane].point); };
  const PauseLane& lane = lanes.lanes()[stop.lane()];
  if (lane.side == LaneSide::kByAddress) {
    stop.sender = fmt::format("{:012x} at {}", lane.mac, name(stop.lane()));
    stop.stopped = "its peer";
    return;
  }
  stop.sender = stop.at_sender != kNone ? name(stop.at_sender) : "the peer of " + name(stop.at_stopped);
  stop.stopped = stop.at_stopped != kNone ? name(stop.at_stopped) : "the peer of " + name(stop.at_sender);
}

bool overlap(const PauseRun& one, const PauseRun& other) {
  return std::min(one.end_ps, other.end_ps) - std::max(one.start_ps, other.start_ps) >
         std::min(one.length_ps(), other.length_ps()) / 2;
}

// Stops that last, and each of which holds the sender of the next: nothing can move any more.
class CycleSearch {
 public:
  CycleSearch(const PauseLanes& lanes, PauseGraph& graph) : lanes_(lanes), graph_(graph) {}

  void search() {
    state_.assign(graph_.stops.size(), kNew);
    for (std::uint32_t i = 0; i < graph_.stops.size(); ++i)
      if (state_[i] == kNew && lasts(i)) visit(i);
  }

 private:
  enum State : std::uint8_t { kNew, kOnPath, kDone };
  const PauseRun& run(std::uint32_t i) const {
    return lanes_.lanes()[graph_.stops[i].lane()].classes[graph_.stops[i].c].longest_run;
  }
  bool lasts(std::uint32_t i) const {
    return is_standstill(run(i), lanes_.speed_bps(lanes_.lanes()[graph_.stops[i].lane()].point));
  }
  // Causes of stop i at its node: stops whose stopped end is that node.
  void visit(std::uint32_t i) {
    state_[i] = kOnPath;
    path_.push_back(i);
    for (std::uint32_t next = 0; next < graph_.stops.size(); ++next) {
      const PauseStop &one = graph_.stops[i], &other = graph_.stops[next];
      if (other.at_stopped == kNone || other.c != one.c || one.sender_node == kNone || next == i) continue;
      const PauseLane& held = lanes_.lanes()[other.at_stopped];
      if (held.node != one.sender_node || one.at_sender == kNone || held.point == lanes_.lanes()[one.at_sender].point)
        continue;
      if (!lasts(next) || !overlap(run(i), run(next))) continue;
      if (state_[next] == kOnPath) {
        graph_.cycles.emplace_back(std::find(path_.begin(), path_.end(), next), path_.end());
      } else if (state_[next] == kNew && path_.size() < kDeepest) {
        visit(next);
      }
    }
    path_.pop_back();
    state_[i] = kDone;
  }

  const PauseLanes& lanes_;
  PauseGraph& graph_;
  std::vector<State> state_;
  std::vector<std::uint32_t> path_;
};

void join_lanes(const PauseLanes& lanes, PauseGraph& graph) {
  std::map<std::tuple<std::uint64_t, std::size_t>, std::uint32_t> by_sender;  // address, class
  for (std::uint32_t i = 0; i < lanes.lanes().size(); ++i) {
    const PauseLane& lane = lanes.lanes()[i];
    for (std::size_t c = 0; c < kLaneClasses; ++c) {
      if (lane.classes[c].pauses == 0) continue;
      PauseStop stop;
      stop.c = c;
      if (lane.side != LaneSide::kByAddress) {
        const auto [known, is_new] =
            by_sender.try_emplace({lane.mac, c}, static_cast<std::uint32_t>(graph.stops.size()));
        if (!is_new) {
          PauseStop& same = graph.stops[known->second];
          std::uint32_t& end = lane.side == LaneSide::kStopsPort ? same.at_stopped : same.at_sender;
          if (end == kNone) {
            end = i;
            continue;
          }
        }
      }
      (lane.side == LaneSide::kStopsPort ? stop.at_stopped : stop.at_sender) = i;
      graph.stops.push_back(std::move(stop));
    }
  }
}

// Which streams pass each point, in which direction.
class Passing {
 public:
  explicit Passing(const Reading& reading) {
    for (StreamId id = 0; id < reading.marks.size() && id < reading.streams.size(); ++id) {
      const Stream& stream = reading.streams[id];
      if (reading.marks[id].data > 0)
        passing_[{stream.point, reading.marks[id].direction}].insert({stream.src, stream.dst, stream.dst_qp});
    }
  }
  // Does anything that comes in at one port leave by the other? Also true where no data was seen.
  bool leads(PointId in, PointId out) const {
    const auto from = passing_.find({in, Direction::kIn}), to = passing_.find({out, Direction::kOut});
    if (from == passing_.end() || to == passing_.end()) return true;
    return std::any_of(from->second.begin(), from->second.end(),
                       [&](const auto& key) { return to->second.contains(key); });
  }

 private:
  std::map<std::pair<PointId, Direction>, std::set<std::tuple<AddressId, AddressId, std::uint32_t>>> passing_;
};

// The stop that most often held the sender when it began to stop its peer.
void find_causes(const PauseLanes& lanes, const Reading& reading, PauseGraph& graph) {
  const Passing passing(reading);
  std::map<std::pair<std::uint32_t, std::size_t>, std::uint32_t> stop_of;  // lane where it arrives, class
  for (std::uint32_t i = 0; i < graph.stops.size(); ++i)
    if (graph.stops[i].at_stopped != kNone) stop_of[{graph.stops[i].at_stopped, graph.stops[i].c}] = i;
  for (std::uint32_t i = 0; i < graph.stops.size(); ++i) {
    PauseStop& stop = graph.stops[i];
    if (stop.at_sender == kNone) continue;
    const PausedClass& state = lanes.lanes()[stop.at_sender].classes[stop.c];
    if (state.passed_on <= state.origin) continue;
    std::uint64_t most = 0;
    for (const auto& [lane, count] : state.causes) {
      const auto found = stop_of.find({lane, stop.c});
      if (found == stop_of.end() || count <= most) continue;
      if (!passing.leads(lanes.lanes()[stop.at_sender].point, lanes.lanes()[lane].point)) continue;
      most = count;
      stop.cause = found->second;
    }
    if (stop.cause != kNone) graph.stops[stop.cause].passed_to.push_back(i);
  }
  for (PauseStop& stop : graph.stops)
    for (std::uint32_t at = stop.cause; at != kNone && stop.depth < kDeepest; at = graph.stops[at].cause) ++stop.depth;
}

}  // namespace

std::int64_t standstill_ps(std::uint64_t speed_bps) {
  return kDrained_B * 8 * 1000 / static_cast<std::int64_t>(std::max<std::uint64_t>(speed_bps / 1'000'000'000, 1));
}

bool is_standstill(const PauseRun& run, std::uint64_t speed_bps) {
  return run.length_ps() >= standstill_ps(speed_bps) && run.xoffs >= kFewestXoffs;
}

std::string class_text(std::size_t c) {
  return c == kWholeLink ? "all classes (802.3x)" : fmt::format("class {}", c);
}

PauseGraph pause_graph(const PauseLanes& lanes, const Reading& reading) {
  PauseGraph graph;
  join_lanes(lanes, graph);
  std::sort(graph.stops.begin(), graph.stops.end(), [&](const PauseStop& one, const PauseStop& other) {
    auto first = [&](const PauseStop& stop) { return lanes.lanes()[stop.lane()].classes[stop.c].first.frame; };
    return std::pair(first(one), one.c) < std::pair(first(other), other.c);
  });
  const HostAddresses hosts(reading);
  for (PauseStop& stop : graph.stops) {
    name_ends(stop, lanes, reading);
    if (stop.at_sender != kNone) stop.sender_node = lanes.lanes()[stop.at_sender].node;
    stop.sender_is_host = hosts.is_host(lanes.lanes()[stop.lane()].mac);
  }
  find_causes(lanes, reading, graph);
  CycleSearch(lanes, graph).search();
  return graph;
}

}  // namespace weft::analyze
