#include "analyze/paths/entropy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analyze/classes/traffic_class.h"

namespace weft::analyze {
namespace {

// Fewer queue pairs between two addresses say nothing about how ports are chosen.
constexpr std::size_t kFewestPairsOfQueues = 4;

struct PortsOfPair {
  std::size_t queue_pairs = 0;
  std::set<std::uint16_t> ports{};
  StreamId first = kNone;
  bool sprays = false;  // one queue pair uses several ports
};

void check_ports(Findings& findings, const Reading& reading, std::uint64_t& looked_at) {
  const FirstPoints firsts(reading);
  std::map<std::pair<AddressId, AddressId>, PortsOfPair> pairs;
  std::uint64_t odd = 0, zero = 0;
  StreamId first_odd = kNone, first_zero = kNone;
  for (StreamId id = 0; id < reading.marks.size(); ++id) {
    const StreamMarks& marks = reading.marks[id];
    const Stream& stream = reading.streams[id];
    if (!firsts.is_first(id)) continue;
    if ((marks.flags & StreamMarks::kCnpPortZero) != 0 && zero++ == 0) first_zero = id;
    if (marks.frames == 0 || marks.src_port == 0 || stream.dst_qp <= 1) continue;
    if ((marks.flags & StreamMarks::kOddPort) != 0 && odd++ == 0) first_odd = id;
    if (marks.data == 0) continue;
    ++looked_at;
    PortsOfPair& pair = pairs[{stream.src, stream.dst}];
    if (pair.queue_pairs++ == 0) pair.first = id;
    pair.ports.insert(marks.src_port);
    pair.sprays |= (marks.flags & StreamMarks::kManyPorts) != 0;
  }
  auto evidence = [&](StreamId id) {
    const Stream& stream = reading.streams[id];
    return Evidence{stream.first_frame, stream.first_ns, stream.point, place_of(reading, id)};
  };
  for (const auto& [ends, pair] : pairs) {
    if (pair.queue_pairs < kFewestPairsOfQueues || pair.sprays || pair.ports.size() * 4 > pair.queue_pairs) continue;
    findings.add({"path-entropy.one-port",
                  fmt::format("{} > {}", reading.addresses.text(ends.first), reading.addresses.text(ends.second)),
                  fmt::format("{} queue pairs use {} UDP source port{}", pair.queue_pairs, pair.ports.size(),
                              pair.ports.size() == 1 ? "" : "s"),
                  "source ports are not derived from the queue pairs (a fixed flow label, an old driver): a hash over "
                  "addresses and ports sends all of them the same way",
                  pair.queue_pairs,
                  {evidence(pair.first)},
                  {{"NIC",
                    "update driver and firmware; rdma_set_option or modify_qp_udp_sport for each queue pair; "
                    "NCCL_IB_QPS_PER_CONNECTION=4"},
                   {"switch",
                    "hash over the destination queue pair as well: NVUE: nv set system forwarding lag-hash "
                    "and ecmp-hash ... (RoCE: BTH.DestQP)"}}});
  }
  if (odd > 0)
    findings.add({"path-entropy.source-port",
                  "the capture",
                  counted(odd, "stream") + " with UDP source ports below 0xC000",
                  "legal; some NICs put the queue pair there",
                  odd,
                  {evidence(first_odd)}});
  if (zero > 0)
    findings.add({"cnp.source-port",
                  "the capture",
                  counted(zero, "stream") + " with CNPs from UDP source port 0",
                  "legal; ConnectX-4 Lx does it",
                  zero,
                  {evidence(first_zero)}});
}

}  // namespace

void check_path_entropy(Findings& findings, const Reading& reading, PauseLanes& lanes) {
  std::uint64_t looked_at = 0;
  check_ports(findings, reading, looked_at);
  check_collisions(findings, reading, lanes);
  findings.judge("path-entropy", looked_at, "streams", "no RoCEv2 stream with data");
}

}  // namespace weft::analyze
