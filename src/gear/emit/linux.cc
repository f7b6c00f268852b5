// A switch that runs Linux itself (mlxsw on Spectrum) or forwards in software: bridge, dcb(8) and tc(8). On mlxsw the
// ETS qdisc has eight bands, band 7 - N is traffic class N, and a RED qdisc below a band marks (kernel documentation
// and wiki of mlxsw: "Quality of Service", "Queues Management").
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gear/emit/mirrors.h"
#include "gear/emit/switch.h"

namespace weft::gear {
namespace {

using fabric::kClasses;

// tc counts a rate of red in 32 bits of bytes per second. It ages the average of an idle queue, no more.
constexpr std::int64_t kMostRed_bps = 34'000'000'000;

// A bridge and its ports.
std::string linux_bridge(std::string_view bridge, const std::vector<std::string>& ports) {
  std::string text = fmt::format("ip link add name {} type bridge\nip link set dev {} up\n", bridge, bridge);
  for (const std::string& port : ports) text += fmt::format("ip link set dev {} master {}\n", port, bridge);
  return text;
}

std::string linux_port(const Contract& contract, const ContractPort& port, SwitchOutput& out) {
  const fabric::SwitchQos& qos = contract.qos;
  const std::string& name = port.name;
  std::string text = fmt::format("ethtool -A {} autoneg off rx off tx off\n", name);
  text += fmt::format("ethtool --set-fec {} encoding {}\n", name,
                      port.fec == lab::Fec::kNone    ? "off"
                      : port.fec == lab::Fec::kBaseR ? "baser"
                                                     : "rs");
  if (qos.trust == fabric::Trust::kDscp) {
    std::string map;
    for (std::size_t dscp = 0; dscp < 64; ++dscp) map += fmt::format(" {}:{}", dscp, qos.priority_of_dscp[dscp]);
    text += fmt::format("dcb app replace dev {} dscp-prio{}\n", name, map);
  }
  // Bands: class 7 first. priomap gives the band of each priority.
  std::vector<int> bands, quanta, strict;
  for (int tc = 7; tc >= 0; --tc) {
    const fabric::QueueConfig& queue = qos.queues[static_cast<std::size_t>(tc)];
    const auto used = contract.queues();
    const bool is_used = std::find(used.begin(), used.end(), tc) != used.end();
    const bool is_strict = is_used && queue.scheduling == fabric::Scheduling::kStrict;
    strict.push_back(is_strict ? 1 : 0);
    quanta.push_back(is_used && !is_strict ? static_cast<int>(queue.weight) : 1);
  }
  for (std::size_t priority = 0; priority < kClasses; ++priority) bands.push_back(7 - qos.queue_of_priority[priority]);
  // ETS wants strict bands first; bands above the lowest strict one are strict too.
  int strict_bands = 0;
  for (int band = 0; band < 8; ++band) {
    if (strict[static_cast<std::size_t>(band)] == 1) strict_bands = band + 1;
  }
  std::vector<int> shares(quanta.begin() + strict_bands, quanta.end());
  for (int& share : shares) share *= 1000;  // a quantum is bytes
  text += fmt::format("tc qdisc replace dev {} root handle 1: ets bands 8 strict {} quanta {} priomap {}\n", name,
                      strict_bands, fmt::join(shares, " "), fmt::join(bands, " "));
  for (std::uint8_t q : contract.queues()) {
    const fabric::EcnRamp& ecn = qos.queues[q].ecn;
    if (!ecn.enabled) continue;
    const int band = 7 - q + 1;
    text += fmt::format(
        "tc qdisc replace dev {} parent 1:{} handle {}: red limit {} min {} max {} avpkt 1500 probability {} bandwidth "
        "{}mbit "
        "burst {} ecn{}\n",
        name, band, 10 + q, std::max(ecn.max_B * 2, contract.model.buffer_B), ecn.min_B, ecn.max_B,
        static_cast<double>(whole_percent(ecn.probability_ppb)) / 100,
        std::min(port.rate_bps, kMostRed_bps) / 1'000'000, (2 * ecn.min_B + ecn.max_B) / (3 * 1500) + 1,
        ecn.drops_not_ect ? "" : " nodrop");
  }
  // Priority group of each priority, and its size: the guarantee and the headroom of this cable. After the qdisc:
  // mlxsw refuses buffer sizes while DCB has the egress.
  std::string buffers, sizes;
  for (std::size_t priority = 0; priority < kClasses; ++priority)
    buffers += fmt::format(" {}:{}", priority, qos.group_of_priority[priority]);
  for (std::uint8_t g : contract.groups()) {
    if (qos.groups[g].lossless) sizes += fmt::format(" {}:{}", g, qos.groups[g].reserved_B + port.headroom_B[g]);
  }
  text += fmt::format("dcb buffer set dev {} prio-buffer{}{}\n", name, buffers,
                      sizes.empty() ? "" : " buffer-size" + sizes);
  std::string pfc = " all:off";
  for (std::uint8_t priority : contract.pfc_priorities()) pfc += fmt::format(" {}:on", priority);
  text += fmt::format("dcb pfc set dev {} prio-pfc{}\n", name, pfc);
  if (qos.watchdog.enabled) out.note("Linux has no PFC watchdog for mlxsw");
  return text;
}

}  // namespace

// miimon sees a loss of signal within 100 ms; LACP at its fast rate what has a signal and carries nothing, in 3 s.
std::vector<std::string> bond_commands(const std::string& bond, const std::vector<std::string>& members,
                                       std::string_view hash) {
  std::vector<std::string> commands = {fmt::format(
      "ip link add name {} type bond mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy {}", bond, hash)};
  for (const std::string& member : members) {
    commands.push_back(fmt::format("ip link set dev {} down", member));
    commands.push_back(fmt::format("ip link set dev {} master {}", member, bond));
  }
  return commands;
}

std::vector<std::string> bond_commands(const SwitchJob& job) {
  const lab::SwitchConfig& device = job.lab.switches[job.device];
  const std::string_view hash = job.hashes_ports() ? "layer3+4" : "layer2+3";
  std::vector<std::string> commands;
  for (const SwitchLag& lag : job.router().lags) {
    std::vector<std::string> members;
    for (std::uint32_t member : lag.members) members.push_back(device.ports[member - 1].name);
    const auto made = bond_commands(fmt::format("bond{}", lag.number), members, hash);
    commands.insert(commands.end(), made.begin(), made.end());
    commands.push_back(fmt::format("ip link set dev bond{} mtu {} up", lag.number, device.ports[lag.port() - 1].mtu_B));
  }
  return commands;
}

namespace {

std::string bond_lines(const SwitchJob& job) {
  std::string text;
  for (const std::string& command : bond_commands(job)) text += command + "\n";
  return text;
}

// Ports and bonds that a bridge has.
std::vector<std::string> bridge_ports(const SwitchJob& job, const std::vector<std::uint32_t>& numbers) {
  std::vector<std::string> names;
  for (std::uint32_t number : numbers) {
    const SwitchLag* lag = job.lag_of(number);
    if (lag == nullptr) {
      names.push_back(job.lab.switches[job.device].ports[number - 1].name);
    } else if (lag->port() == number) {
      names.push_back(fmt::format("bond{}", lag->number));
    }
  }
  return names;
}

}  // namespace

void emit_linux(const SwitchJob& job, SwitchOutput& out) {
  const Contract& contract = job.contract;
  std::string ports, bridges;
  std::vector<std::uint32_t> numbers;
  for (const ContractPort& port : contract.ports) {
    numbers.push_back(port.number);
    ports += fmt::format("ip link set dev {} mtu {} up\n", port.name, port.mtu_B) + linux_port(contract, port, out);
  }
  // Routed: a bridge for each subnet of hosts, links to switches by themselves.
  for (const RoutedVlan& vlan : job.router().vlans) {
    if (job.routes()) bridges += linux_bridge(linux_vlan_name(vlan), bridge_ports(job, vlan.ports));
  }
  if (!job.routes()) bridges = linux_bridge("br0", bridge_ports(job, numbers));
  note_mirrors(job, out, "this script has no tc action mirred for it");
  out.note("alpha and pools: devlink sb has them for each port and class, this script leaves the driver's own");
  for (std::uint8_t q : contract.queues()) {
    if (contract.qos.queues[q].ecn.enabled && contract.qos.queues[q].ecn.weight_exponent != 0)
      out.note(fmt::format("queue {}: average {}: mlxsw marks by the queue as it is", q,
                           contract.qos.queues[q].ecn.weight_exponent));
  }
  out.file("bridge.sh",
           "#!/bin/sh\n" + head_comment(job, "Linux bridge with DCB", "# ") + out.comments("# ") + "set -eu\n" +
               bond_lines(job) + bridges + ports,
           true);
  if (job.routes()) emit_frr_files(job, out);
}

void emit_linux_forwarder(const lab::Lab& lab, std::uint32_t device, SwitchOutput& out) {
  const lab::SwitchConfig& config = lab.switches[device];
  const fabric::ForwarderConfig& forwarder = *config.forwarder;
  std::vector<std::string> names;
  std::string ports;
  for (const lab::LinkConfig& link : lab.links) {
    for (const lab::PortRef& end : {link.a, link.b}) {
      if (!end.is_switch() || end.host != device) continue;
      const std::string& name = config.ports[end.port].name;
      const fabric::ForwarderPort& port = forwarder.ports[end.port];
      names.push_back(name);
      ports += fmt::format("ip link set dev {} mtu {} up\n", name, config.ports[end.port].mtu_B);
      ports += fmt::format(
          "ethtool -A {} autoneg off rx off tx off\nethtool -G {} rx {}\nethtool -C {} rx-usecs {} rx-frames {}\n",
          name, name, port.rx_ring, name, forwarder.model.rx_usecs_ps / kMicrosecond_ps, forwarder.model.rx_frames);
      const fabric::QdiscConfig& qdisc = port.qdisc;
      if (qdisc.kind == fabric::QdiscKind::kPfifo) {
        ports += fmt::format("tc qdisc replace dev {} root pfifo limit {}\n", name, qdisc.limit);
      } else {
        ports += fmt::format(
            "tc qdisc replace dev {} root red limit {} min {} max {} avpkt {} burst {} bandwidth {}bit probability "
            "{}{}\n",
            name, qdisc.limit, qdisc.min_B, qdisc.max_B, qdisc.avpkt_B, qdisc.burst,
            std::min(qdisc.bandwidth_bps, kMostRed_bps), static_cast<double>(qdisc.probability_ppb) / 1e9,
            qdisc.ecn ? " ecn" : "");
      }
    }
  }
  out.note("a software bridge neither sends nor obeys PFC: no class is lossless here");
  out.file("bridge.sh",
           fmt::format("#!/bin/sh\n# {} of the lab {}: {}\n{}set -eu\n{}{}sysctl -w net.core.netdev_budget={}\n",
                       config.name, lab.name, forwarder.model.description, out.comments("# "),
                       linux_bridge("br0", names), ports, forwarder.model.netdev_budget),
           true);
}

}  // namespace weft::gear
