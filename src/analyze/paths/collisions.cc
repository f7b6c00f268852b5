// Which of several equal ways flows took. A collision: a few large flows on one port while another that leads there is
// idle, as chance has it. Polarisation: so many flows on one port that chance does not do it, at a switch behind one
// that has chosen already; both use the same hash. What leads where is known only from packets that came in.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "analyze/paths/egress_ports.h"
#include "analyze/paths/entropy.h"

namespace weft::analyze {
namespace {

constexpr double kFullPort = 0.8;
constexpr std::size_t kMostCollidingNamed = 4;
constexpr std::size_t kFewestHashedFlows = 8;
constexpr double kChance = 1e-3;  // less is no chance

std::vector<Remedy> hash_remedies() {
  return {{"switch",
           "show interfaces counters: compare the uplinks; adaptive routing or another hash: NVUE: nv set "
           "router adaptive-routing enable on; hash over BTH.DestQP"},
          {"NIC", "several queue pairs for each connection: NCCL_IB_QPS_PER_CONNECTION=4 NCCL_IB_SPLIT_DATA_ON_QPS=1"}};
}

std::vector<Remedy> seed_remedies() {
  return {{"switch",
           "another hash seed on each tier: SONiC: SWITCH_TABLE ecmp_hash_seed, lag_hash_seed; NVUE: nv set system "
           "forwarding hash-seed; EOS: port-channel load-balance ... hash-seed"},
          {"switch", "show interfaces counters: compare the uplinks of the second tier"}};
}

bool leads_there(const EgressPort& port, const std::set<AddressId>& destinations) {
  return std::any_of(port.behind.begin(), port.behind.end(),
                     [&](AddressId address) { return destinations.contains(address); });
}

// Flows to some of these addresses leave by it.
bool leads_there_by(const EgressPort& port, const std::set<AddressId>& destinations) {
  return std::any_of(port.destinations.begin(), port.destinations.end(),
                     [&](AddressId address) { return destinations.contains(address); });
}

// How likely some of `ports` has `most` or more of `flows`, if each flow takes any of them: the tail of the binomial
// distribution, for each port.
double chance_of(std::size_t flows, std::size_t most, std::size_t ports) {
  const double p = 1 / static_cast<double>(ports);
  double term = std::pow(1 - p, static_cast<double>(flows)), below = 0;
  for (std::size_t i = 0; i < most; ++i) {
    below += term;
    term *= p / (1 - p) * static_cast<double>(flows - i) / static_cast<double>(i + 1);
  }
  return std::min(1.0, static_cast<double>(ports) * std::max(0.0, 1 - below));
}

void find_collision(Findings& findings, const Reading& reading, PauseLanes& lanes, const SwitchNode& node,
                    PointId point) {
  const EgressPort& egress = node.ports.at(point);
  const auto speed_bps = static_cast<double>(lanes.speed_bps(point));
  if (egress.heavy.size() < 2 || egress.sent_bps < kFullPort * speed_bps) return;
  std::set<AddressId> destinations, sources;
  for (const StreamId id : egress.heavy) {
    destinations.insert(reading.streams[id].dst);
    sources.insert(reading.streams[id].src);
  }
  // To one receiver, or from one sender, they would share a cable anyway.
  if (destinations.size() < 2 || sources.size() < 2) return;
  PointId idle = kNone;
  bool is_known = false;
  for (const auto& [other, port] : node.ports) {
    if (other == point || lanes.speed_bps(other) != lanes.speed_bps(point)) continue;
    // A port without any address behind it is no host's: an uplink that nothing has chosen.
    const bool leads = leads_there(port, destinations);
    if ((!leads && !port.behind.empty()) || port.sent_bps >= egress.sent_bps / 4 || (is_known && !leads)) continue;
    idle = other;
    is_known = leads;
  }
  if (idle == kNone) return;
  Finding finding;
  finding.id = "path-entropy.collision";
  finding.where = point_name(reading, point);
  finding.count = egress.heavy.size();
  finding.what = fmt::format(
      "{} large flows leave by {} ({:.1f} of {:.0f} Gb/s) while {}, {}, is hardly used:", egress.heavy.size(),
      point_name(reading, point), egress.sent_bps / 1e9, speed_bps / 1e9, point_name(reading, idle),
      is_known ? "which leads there too" : "which may lead there (nothing came in by it)");
  for (std::size_t i = 0; i < egress.heavy.size() && i < kMostCollidingNamed; ++i) {
    const Stream& stream = reading.streams[egress.heavy[i]];
    finding.what += fmt::format("{} {} port {}", i == 0 ? "" : ",", place_of(reading, egress.heavy[i]),
                                reading.marks[egress.heavy[i]].src_port);
    finding.evidence.push_back({stream.first_frame, stream.first_ns, stream.point, place_of(reading, egress.heavy[i])});
  }
  finding.cause = "the hash over addresses and ports gave them the same uplink";
  finding.remedies = hash_remedies();
  findings.add(std::move(finding));
}

// Did a switch before this one choose among ways? Then flows of several hosts come in by one port.
bool is_behind_switch(const SwitchNode& node, const EgressPort& egress) {
  std::map<PointId, std::set<AddressId>> sources;
  for (const HashedFlow& flow : egress.flows)
    if (const auto came = node.came_by.find(flow); came != node.came_by.end())
      sources[came->second].insert(std::get<0>(flow));
  return std::any_of(sources.begin(), sources.end(), [](const auto& each) { return each.second.size() > 1; });
}

std::string_view port_part(const Reading& reading, PointId point) {
  const std::string_view name = reading.capture.points[point].name;
  const std::size_t colon = name.rfind(':');
  return colon == name.npos ? std::string_view{} : name.substr(colon + 1);
}

// Switches of one tier are wired alike. Another one that sends to these destinations by the port that is silent here,
// and is silent where this one sends, shows that both ports lead there, and that the tier before has decided: kNone
// where there is none, otherwise its port.
PointId find_mirror_image(const Reading& reading, const std::vector<SwitchNode>& nodes, const SwitchNode& node,
                          PointId busy, PointId silent) {
  const std::string_view busy_name = port_part(reading, busy), silent_name = port_part(reading, silent);
  if (busy_name.empty() || silent_name.empty()) return kNone;
  for (const SwitchNode& other : nodes) {
    PointId sends = kNone;
    bool is_silent = false;
    for (const auto& [point, port] : other.ports) {
      if (port_part(reading, point) == busy_name) is_silent = port.flows.empty() && port.behind.empty();
      if (port_part(reading, point) == silent_name && leads_there_by(port, node.ports.at(busy).destinations))
        sends = point;
    }
    if (&other != &node && is_silent && sends != kNone) return sends;
  }
  return kNone;
}

void find_polarisation(Findings& findings, const Reading& reading, PauseLanes& lanes,
                       const std::vector<SwitchNode>& nodes, const SwitchNode& node, PointId point) {
  const EgressPort& egress = node.ports.at(point);
  if (egress.flows.size() < kFewestHashedFlows || egress.destinations.size() < 2 || !is_behind_switch(node, egress))
    return;
  std::size_t ports = 1, flows = egress.flows.size(), silent = 0;
  std::vector<std::string> others;
  PointId image = kNone;
  for (const auto& [other, port] : node.ports) {
    if (other == point || lanes.speed_bps(other) != lanes.speed_bps(point)) continue;
    if (port.flows.size() > egress.flows.size()) return;  // the fullest port tells it
    const bool is_silent = port.behind.empty() && port.flows.empty();
    if (!is_silent && !leads_there(port, egress.destinations)) continue;
    silent += is_silent ? 1 : 0;
    if (is_silent && image == kNone) image = find_mirror_image(reading, nodes, node, point, other);
    ++ports;
    others.push_back(point_name(reading, other));
    flows += static_cast<std::size_t>(std::count_if(port.flows.begin(), port.flows.end(), [&](const HashedFlow& flow) {
      return egress.destinations.contains(std::get<1>(flow));
    }));
  }
  if (ports < 2 || chance_of(flows, egress.flows.size(), ports) > kChance) return;
  std::string names;
  for (std::size_t i = 0; i < others.size() && i < kMostCollidingNamed; ++i) names += (i == 0 ? "" : ", ") + others[i];
  if (others.size() > kMostCollidingNamed) names += fmt::format(" and {} more", others.size() - kMostCollidingNamed);
  // Ports at which nothing was seen may lead anywhere.
  const bool is_certain = silent + 1 < ports || image != kNone;
  const double chance = chance_of(flows, egress.flows.size(), ports);
  findings.add({is_certain ? "path-entropy.polarised" : "path-entropy.single-path",
                point_name(reading, point),
                fmt::format("{} of {} flows that another switch had spread leave by {}; beside it {}: {}. If all lead "
                            "there, chance does that once in {:.0f}{}",
                            egress.flows.size(), flows, point_name(reading, point), others.size() == 1 ? "is" : "are",
                            names, 1 / std::max(chance, 1e-9),
                            image == kNone ? ""
                                           : fmt::format("; {} shows that they do: there it is the other way round",
                                                         point_name(reading, image))),
                is_certain ? "both tiers use the same hash with the same seed: flows that came here by one choice make "
                             "the same choice again (polarisation)"
                           : "it is the only way there, or both tiers use the same hash with the same seed "
                             "(polarisation): no packet shows where the silent ports lead",
                egress.flows.size(),
                {},
                seed_remedies()});
}

// How many ways flows can tell apart, where the ways themselves are not in the capture.
void estimate_sharing(Findings& findings, const Reading& reading, const std::vector<SwitchNode>& nodes) {
  std::set<HashedFlow> hashed;
  std::set<std::tuple<AddressId, AddressId, std::uint32_t>> queue_pairs;
  std::set<AddressId> sources, destinations;
  for (const SwitchNode& node : nodes)
    for (const auto& [point, port] : node.ports)
      for (const StreamId id : port.heavy) {
        if (reading.marks[id].direction != Direction::kUnknown) return;  // ports are there: they tell
        const Stream& stream = reading.streams[id];
        hashed.insert({stream.src, stream.dst, reading.marks[id].src_port});
        queue_pairs.insert({stream.src, stream.dst, stream.dst_qp});
        sources.insert(stream.src);
        destinations.insert(stream.dst);
      }
  if (hashed.size() < 2 || sources.size() < 2 || destinations.size() < 2) return;
  // None of f flows shares one of n ways: n! / ((n-f)! n^f).
  const auto sharing = [&hashed](std::size_t ways) {
    double alone = hashed.size() > ways ? 0 : 1;
    for (std::size_t i = 0; i < hashed.size() && alone > 0; ++i)
      alone *= 1 - static_cast<double>(i) / static_cast<double>(ways);
    return 100 * (1 - alone);
  };
  findings.add({"path-entropy.estimate",
                "the capture",
                fmt::format("{} large queue pairs hash as {} flows (addresses and source port); if switches choose by "
                            "that among 4 equal ways, two of them share one with {:.0f} %, among 16 with {:.0f} %",
                            queue_pairs.size(), hashed.size(), sharing(4), sharing(16)),
                "which ways there are, and which flow takes which, is not in captures of one cable",
                hashed.size(),
                {},
                {{"switch", "capture the uplinks of one switch as interfaces NODE:PORT, or compare their counters"}}});
}

}  // namespace

void check_collisions(Findings& findings, const Reading& reading, PauseLanes& lanes) {
  if (reading.span_ns() <= 0) return;
  const std::vector<SwitchNode> nodes = switch_nodes(reading, lanes);
  for (const SwitchNode& node : nodes)
    for (const auto& [point, port] : node.ports) {
      find_collision(findings, reading, lanes, node, point);
      find_polarisation(findings, reading, lanes, nodes, node, point);
    }
  estimate_sharing(findings, reading, nodes);
}

}  // namespace weft::analyze
