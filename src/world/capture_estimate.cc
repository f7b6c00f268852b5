#include "world/capture_estimate.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <variant>

#include "model/port_pairs.h"

namespace weft::lab {

namespace {

using Place = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

Place place_of(const PortRef& port) {
  return {port.host, port.nic, port.port};
}

// A frame in pcapng: block header and trailer, flags and end of options (pcap/pcapng.cc), padded to 4 bytes.
double in_file_B(double frame_B, std::uint32_t snaplen_B) {
  constexpr double kBlock_B = 44;
  const double kept_B = snaplen_B == 0 ? frame_B : std::min(frame_B, static_cast<double>(snaplen_B));
  return kBlock_B + 4 * static_cast<double>((static_cast<std::uint64_t>(kept_B) + 3) / 4);
}

// Frames of RoCEv2 between two ports.
struct RoceFrames {
  std::uint32_t snaplen_B = 0;
  double header_B = 0;  // Ethernet, IP, UDP, BTH, ICRC
  std::uint64_t mtu_B = 1024;
  std::uint64_t ack_interval = 1;

  double message_B(std::uint64_t size_B) const {
    constexpr double kReth_B = 16;
    const std::uint64_t whole = size_B / mtu_B, rest_B = size_B % mtu_B;
    double sum_B = static_cast<double>(whole) * in_file_B(header_B + static_cast<double>(mtu_B), snaplen_B);
    if (rest_B > 0 || whole == 0) sum_B += in_file_B(header_B + static_cast<double>(rest_B), snaplen_B);
    return sum_B + (snaplen_B == 0 ? kReth_B : 0);
  }
  // Acknowledgements of a message, or the request of a READ: about as large.
  double answers_B(std::uint64_t size_B) const {
    constexpr double kAeth_B = 4;
    const std::uint64_t packets = std::max<std::uint64_t>((size_B + mtu_B - 1) / mtu_B, 1);
    return static_cast<double>((packets + ack_interval - 1) / ack_interval) * in_file_B(header_B + kAeth_B, snaplen_B);
  }
};

// What the ports of hosts send each other, and how often captured ports see it.
class Traffic {
 public:
  Traffic(const Lab& lab, const std::vector<PortRef>& captured) : lab_(lab), nodes_(lab.switches.size()) {
    std::map<Place, bool> is_captured;
    for (const PortRef& port : captured) is_captured[place_of(port)] = true;
    for (const LinkConfig& link : lab.links) {
      const double seen = (is_captured.contains(place_of(link.a)) ? 1 : 0) +  // a frame is seen at each end
                          (is_captured.contains(place_of(link.b)) ? 1 : 0);
      const std::uint32_t a = node_of(link.a), b = node_of(link.b);
      nodes_[a].push_back({b, seen});
      nodes_[b].push_back({a, seen});
      full_Bps_ += seen * 2 * static_cast<double>(link.rate_bps) / 8;
    }
    to_.resize(nodes_.size());
  }

  void add(const PortRef& from, const PortRef& to, double file_B) {
    const PortRef source = carrier_of(lab_, from), destination = carrier_of(lab_, to);
    const auto a = hosts_.find(place_of(source)), b = hosts_.find(place_of(destination));
    if (a == hosts_.end() || b == hosts_.end() || a->second == b->second) return;
    to_[b->second].emplace_back(a->second, file_B);
  }

  double seen_B() const {
    double sum_B = 0;
    for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
      if (!to_[node].empty()) sum_B += seen_on_the_way_to(node);
    }
    return sum_B;
  }
  double full_Bps() const { return full_Bps_; }

 private:
  struct Edge {
    std::uint32_t to = 0;
    double seen = 0;  // ends that are captured
  };

  std::uint32_t node_of(const PortRef& port) {
    if (port.is_switch()) return port.host;
    const auto [found, is_new] = hosts_.try_emplace(place_of(port), static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) nodes_.emplace_back();
    return found->second;
  }

  // Loads of all senders to one port, from the farthest node to the nearest: each hands its load on to its neighbours
  // that are one step nearer, in equal parts.
  double seen_on_the_way_to(std::uint32_t destination) const {
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

  const Lab& lab_;
  std::vector<std::vector<Edge>> nodes_;                           // switches, then the cabled ports of hosts
  std::map<Place, std::uint32_t> hosts_;                           // their nodes
  std::vector<std::vector<std::pair<std::uint32_t, double>>> to_;  // by node: from which one how much
  double full_Bps_ = 0;
};

class Estimator {
 public:
  Estimator(const Lab& lab, const std::vector<PortRef>& ports, std::uint32_t snaplen_B)
      : lab_(lab), snaplen_B_(snaplen_B), traffic_(lab, ports) {
    for (const LinkConfig& link : lab.links) {
      for (const PortRef& port : {link.a, link.b}) rates_bps_[place_of(port)] = static_cast<double>(link.rate_bps);
    }
  }

  CaptureEstimate estimate() {
    for (const WorkloadConfig& config : lab_.workloads) {
      std::visit([&](const auto& options) { add(config, options); }, config.options);
    }
    CaptureEstimate estimate{traffic_.seen_B(), is_whole_ && !lab_.workloads.empty(), traffic_.full_Bps()};
    if (lab_.duration_ps)  // the run ends then
      estimate.file_B = std::min(estimate.file_B, estimate.full_Bps * static_cast<double>(*lab_.duration_ps) / 1e12);
    return estimate;
  }

 private:
  RoceFrames frames(const PortRef& from, const PortRef& to, std::uint32_t asked_mtu_B) const {
    const nic::NicModel& model = lab_.hosts[to.host].nics[to.nic].model;
    const PortConfig& port = lab_.hosts[from.host].nics[from.nic].ports[from.port];
    RoceFrames frames;
    frames.snaplen_B = snaplen_B_;
    frames.header_B = 14 + (port.vlan ? 4 : 0) + (port.address.is_v4 ? 20 : 40) + 8 + 12 + 4;
    frames.mtu_B = asked_mtu_B != 0 ? asked_mtu_B : std::max<std::uint32_t>(path_mtu_B(lab_, {from, to}), 256);
    frames.ack_interval = std::max<std::uint32_t>(model.ack_interval_packets, 1);
    return frames;
  }
  double rate_bps(const PortRef& port) const {
    const auto found = rates_bps_.find(place_of(carrier_of(lab_, port)));
    return found == rates_bps_.end() ? 0 : found->second;
  }
  void add_messages(const PortRef& from, const PortRef& to, const RoceFrames& frames, double count,
                    std::uint64_t size_B, bool has_answers) {
    traffic_.add(from, to, count * frames.message_B(size_B));
    if (has_answers) traffic_.add(to, from, count * frames.answers_B(size_B));
  }

  void add(const WorkloadConfig& config, const workload::FlowOptions& options) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, RoceFrames> known;
    for (const workload::Flow& flow : options.flows) {
      const PortRef &from = config.flow_ports[flow.source], &to = config.flow_ports[flow.destination];
      auto [found, is_new] = known.try_emplace({flow.source, flow.destination});
      if (is_new) found->second = frames(from, to, options.mtu_B);
      const std::uint64_t message_B = options.message_B == 0 ? flow.size_B : options.message_B;
      const double messages = message_B == 0 ? 1 : static_cast<double>(flow.size_B) / static_cast<double>(message_B);
      add_messages(from, to, found->second, messages, message_B, true);
    }
  }

  void add(const WorkloadConfig& config, const workload::TransferOptions& options) {
    const bool from_server = options.op == workload::TransferOp::kRead;
    const PortRef &from = from_server ? config.server : config.client,
                  &to = from_server ? config.client : config.server;
    add_messages(from, to, frames(from, to, 0), static_cast<double>(options.count), options.size_B, !options.ud);
  }

  void add(const WorkloadConfig& config, const workload::PerftestOptions& options) {
    constexpr unsigned kLargestPower = 23;  // -a
    for (unsigned power = 1; power <= kLargestPower; ++power) {
      if (options.all_sizes) add_size(config, options, std::uint64_t{1} << power);
    }
    if (!options.all_sizes) add_size(config, options, options.size_B);
  }
  void add_size(const WorkloadConfig& config, const workload::PerftestOptions& options, std::uint64_t size_B) {
    const bool is_read = options.verb == workload::PerftestVerb::kRead;
    const PortRef &from = is_read ? config.server : config.client, &to = is_read ? config.client : config.server;
    const RoceFrames shape = frames(from, to, options.mtu_B);
    double count = static_cast<double>(options.iterations) * options.qps;
    if (options.duration_s != 0) {
      constexpr double kPingPong_s = 2e-6;  // of small messages
      const double packets = static_cast<double>(std::max<std::uint64_t>((size_B + shape.mtu_B - 1) / shape.mtu_B, 1));
      const double line_s = (static_cast<double>(size_B) + packets * shape.header_B) * 8 / rate_bps(from);
      count = options.duration_s / (options.latency ? line_s + kPingPong_s : line_s);
      const bool in_gbps = options.rate_units == workload::RateUnits::kGbps;
      if (options.rate_limit > 0 && in_gbps && size_B > 0)
        count = std::min(count, options.duration_s * options.rate_limit * 1e9 / 8 / static_cast<double>(size_B));
    }
    const bool both_ways = options.bidirectional || (options.latency && options.verb != workload::PerftestVerb::kRead &&
                                                     options.verb != workload::PerftestVerb::kAtomic);
    add_messages(from, to, shape, count, size_B, !options.ud);
    if (both_ways) add_messages(to, from, shape, count, size_B, !options.ud);
  }

  void add(const WorkloadConfig& config, const workload::Iperf3Options& options) {
    constexpr double kHeaders_B = 14, kTcp_B = 32;  // timestamps
    const PortRef &from = options.reverse ? config.server : config.client,
                  &to = options.reverse ? config.client : config.server;
    const PortConfig& port = lab_.hosts[from.host].nics[from.nic].ports[from.port];
    const double ip_B = port.address.is_v4 ? 20 : 40, mtu_B = static_cast<double>(port.netdev_mtu_B);
    const double payload_B = options.mss_B != 0 ? options.mss_B : mtu_B - ip_B - kTcp_B;
    const double total_B = options.total_B != 0 ? static_cast<double>(options.total_B)
                                                : rate_bps(from) / 8 * static_cast<double>(options.duration_ps) / 1e12;
    const double segments = total_B / payload_B;
    traffic_.add(from, to, segments * in_file_B(kHeaders_B + ip_B + kTcp_B + payload_B, snaplen_B_));
    traffic_.add(to, from, segments / 2 * in_file_B(kHeaders_B + ip_B + kTcp_B, snaplen_B_));  // delayed ACKs
  }

  void add(const WorkloadConfig& /*config*/, const workload::ProgramOptions& /*options*/) { is_whole_ = false; }
  void add(const WorkloadConfig& /*config*/, const workload::NcclOptions& /*options*/) { is_whole_ = false; }
  void add(const WorkloadConfig& /*config*/, const workload::JobOptions& /*options*/) { is_whole_ = false; }

  const Lab& lab_;
  std::uint32_t snaplen_B_;
  Traffic traffic_;
  std::map<Place, double> rates_bps_;
  bool is_whole_ = true;
};

}  // namespace

CaptureEstimate estimate_capture(const Lab& lab, const std::vector<PortRef>& ports, std::uint32_t snaplen_B) {
  return Estimator(lab, ports, snaplen_B).estimate();
}

}  // namespace weft::lab
