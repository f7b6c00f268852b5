#include "world/capture_estimate.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "model/port_pairs.h"

namespace weft::lab {

namespace {

// A frame in pcapng: block header and trailer, flags and end of options (pcap/pcapng.cc), padded to 4 bytes.
double in_file_B(double frame_B, std::uint32_t snaplen_B) {
  constexpr double kBlock_B = 44;
  const double kept_B = snaplen_B == 0 ? frame_B : std::min(frame_B, static_cast<double>(snaplen_B));
  return kBlock_B + 4 * static_cast<double>((static_cast<std::uint64_t>(kept_B) + 3) / 4);
}

}  // namespace

// Of RoCEv2 between two ports.
struct CaptureTraffic::Frames {
  std::uint32_t snaplen_B = 0;
  double header_B = 0;  // Ethernet, IP, UDP, BTH, ICRC
  std::uint64_t mtu_B = 1024;
  std::uint64_t ack_interval = 1;

  std::uint64_t packets(std::uint64_t size_B) const { return std::max<std::uint64_t>((size_B + mtu_B - 1) / mtu_B, 1); }
  double message_B(std::uint64_t size_B) const {
    constexpr double kReth_B = 16;
    const std::uint64_t whole = packets(size_B) - 1, last_B = size_B - whole * mtu_B;
    return static_cast<double>(whole) * in_file_B(header_B + static_cast<double>(mtu_B), snaplen_B) +
           in_file_B(header_B + static_cast<double>(last_B), snaplen_B) + (snaplen_B == 0 ? kReth_B : 0);
  }
  // Acknowledgements of a message, or the request of a READ: about as large.
  double answers_B(std::uint64_t size_B) const {
    constexpr double kAeth_B = 4;
    return static_cast<double>((packets(size_B) + ack_interval - 1) / ack_interval) *
           in_file_B(header_B + kAeth_B, snaplen_B);
  }
};

CaptureTraffic::CaptureTraffic(const Lab& lab, const std::vector<PortRef>& captured, std::uint32_t snaplen_B)
    : lab_(lab), snaplen_B_(snaplen_B), nodes_(lab.switches.size()) {
  std::map<Place, bool> is_captured;
  for (const PortRef& port : captured) is_captured[place_of(port)] = true;
  for (const LinkConfig& link : lab.links) {
    const double rate_bps = static_cast<double>(link.rate_bps);
    double seen = 0;  // a frame is seen at each end
    for (const PortRef& port : {link.a, link.b}) {
      seen += is_captured.contains(place_of(port)) ? 1 : 0;
      rates_bps_[place_of(port)] = rate_bps;
    }
    const std::uint32_t a = node_of(link.a), b = node_of(link.b);
    nodes_[a].push_back({b, seen});
    nodes_[b].push_back({a, seen});
    full_Bps_ += seen * 2 * rate_bps / 8;
  }
  to_.resize(nodes_.size());
}

std::uint32_t CaptureTraffic::node_of(const PortRef& port) {
  if (port.is_switch()) return port.host;
  const auto [found, is_new] = hosts_.try_emplace(place_of(port), static_cast<std::uint32_t>(nodes_.size()));
  if (is_new) nodes_.emplace_back();
  return found->second;
}

void CaptureTraffic::add(const PortRef& from, const PortRef& to, double file_B) {
  const auto a = hosts_.find(place_of(carrier_of(lab_, from))), b = hosts_.find(place_of(carrier_of(lab_, to)));
  if (a == hosts_.end() || b == hosts_.end() || a->second == b->second) return;
  to_[b->second].emplace_back(a->second, file_B);
}

double CaptureTraffic::rate_bps(const PortRef& port) const {
  const auto found = rates_bps_.find(place_of(carrier_of(lab_, port)));
  return found == rates_bps_.end() ? 0 : found->second;
}

CaptureTraffic::Frames CaptureTraffic::frames(const PortRef& from, const PortRef& to, std::uint32_t mtu_B) const {
  const PortConfig& port = lab_.hosts[from.host].nics[from.nic].ports[from.port];
  Frames frames;
  frames.snaplen_B = snaplen_B_;
  frames.header_B = 14 + (port.vlan ? 4 : 0) + (port.address.is_v4 ? 20 : 40) + 8 + 12 + 4;
  frames.mtu_B = mtu_B != 0 ? mtu_B : std::max<std::uint32_t>(path_mtu_B(lab_, {from, to}), 256);
  frames.ack_interval = std::max<std::uint32_t>(lab_.hosts[to.host].nics[to.nic].model.ack_interval_packets, 1);
  return frames;
}

void CaptureTraffic::add_messages(const PortRef& from, const PortRef& to, double count, std::uint64_t size_B,
                                  std::uint32_t mtu_B, bool has_answers) {
  const Frames sent = frames(from, to, mtu_B);
  add(from, to, count * sent.message_B(size_B));
  if (has_answers) add(to, from, count * sent.answers_B(size_B));
}

double CaptureTraffic::messages_per_s(const PortRef& from, const PortRef& to, std::uint64_t size_B,
                                      std::uint32_t mtu_B) const {
  const Frames sent = frames(from, to, mtu_B);
  const double message_B = static_cast<double>(size_B) + static_cast<double>(sent.packets(size_B)) * sent.header_B;
  return rate_bps(from) / 8 / message_B;
}

void CaptureTraffic::add_stream(const PortRef& from, const PortRef& to, double size_B, std::uint32_t mss_B) {
  constexpr double kEthernet_B = 14, kTcp_B = 32;  // with timestamps
  const PortConfig& port = lab_.hosts[from.host].nics[from.nic].ports[from.port];
  const double ip_B = port.address.is_v4 ? 20 : 40;
  const double payload_B = mss_B != 0 ? mss_B : static_cast<double>(port.netdev_mtu_B) - ip_B - kTcp_B;
  const double segments = size_B / payload_B, header_B = kEthernet_B + ip_B + kTcp_B;
  add(from, to, segments * in_file_B(header_B + payload_B, snaplen_B_));
  add(to, from, segments / 2 * in_file_B(header_B, snaplen_B_));  // delayed ACKs
}

// Loads of all senders to one port, from the farthest node to the nearest: each hands its load on to its neighbours
// that are one step nearer, in equal parts.
double CaptureTraffic::seen_on_the_way_to(std::uint32_t destination) const {
  constexpr std::uint32_t kFar = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> steps(nodes_.size(), kFar), order{destination};
  steps[destination] = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t node = order[i];
    for (const Edge& edge : nodes_[node]) {
      if (steps[edge.to] != kFar) continue;
      steps[edge.to] = steps[node] + 1;
      order.push_back(edge.to);
    }
  }
  std::vector<double> load_B(nodes_.size(), 0);
  for (const auto& [source, file_B] : to_[destination]) load_B[source] += file_B;
  double sum_B = 0;
  for (std::size_t i = order.size(); i-- > 1;) {
    const std::uint32_t node = order[i];
    if (load_B[node] == 0) continue;
    const auto is_nearer = [&](const Edge& edge) { return steps[edge.to] + 1 == steps[node]; };
    const double share_B =
        load_B[node] / static_cast<double>(std::count_if(nodes_[node].begin(), nodes_[node].end(), is_nearer));
    for (const Edge& edge : nodes_[node]) {
      if (!is_nearer(edge)) continue;
      load_B[edge.to] += share_B;
      sum_B += share_B * edge.seen;
    }
  }
  return sum_B;
}

CaptureEstimate CaptureTraffic::estimate() const {
  CaptureEstimate estimate{0, is_whole_ && !lab_.workloads.empty(), full_Bps_};
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    if (!to_[node].empty()) estimate.file_B += seen_on_the_way_to(node);
  }
  if (lab_.duration_ps)  // the run ends then
    estimate.file_B = std::min(estimate.file_B, full_Bps_ * static_cast<double>(*lab_.duration_ps) / 1e12);
  return estimate;
}

CaptureEstimate estimate_capture(const Lab& lab, const std::vector<PortRef>& ports, std::uint32_t snaplen_B) {
  CaptureTraffic traffic(lab, ports, snaplen_B);
  for (const WorkloadConfig& config : lab.workloads)
    std::visit([&](const auto& options) { add_traffic(options, config, traffic); }, config.options);
  return traffic.estimate();
}

}  // namespace weft::lab
