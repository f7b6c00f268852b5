// Symptoms in counters: storms, drops, retransmissions, pauses, a ring that overflows.
#include <fmt/format.h>

#include <algorithm>

#include "base/figures.h"
#include "gear/doctor/checks.h"
#include "gear/doctor/switch_commands.h"

namespace weft::gear {

namespace {

const Seen<std::uint64_t>* counter(const NicPort& port, const std::string& name) {
  const auto it = port.counters.find(name);
  return it == port.counters.end() || it->second.value == 0 ? nullptr : &it->second;
}

void check_storms(const HostState& host, const NicPort& port, Findings& findings) {
  std::vector<Evidence> evidence;
  for (const char* name : {"tx_pause_storm_error_events", "tx_pause_storm_warning_events"}) {
    if (const auto* events = counter(port, name)) evidence.push_back(events->from);
  }
  if (!evidence.empty())
    findings.add("watchdog-storm", host.name + " " + port.name(),
                 "the NIC sent pauses for so long that its own storm guard acted: the host does not take its packets",
                 evidence,
                 {"look for a hung process, PCIe errors or a stalled GPU on this host",
                  "ethtool -S " + netdev_of(port) + " | grep pci_stalled"});
}

void check_drops(const HostState& host, const NicPort& port, Findings& findings) {
  std::vector<Evidence> evidence;
  for (int priority = 0; port.qos.pfc && priority < 8; ++priority) {
    if ((port.qos.pfc->value >> priority & 1) == 0) continue;
    for (const char* what : {"buf_discard", "cong_discard", "discards"}) {
      if (const auto* drops = counter(port, fmt::format("rx_prio{}_{}", priority, what)))
        evidence.push_back(drops->from);
    }
  }
  if (!evidence.empty())
    findings.add(
        "lossless-drops", host.name + " " + port.name(),
        "the NIC dropped packets of a priority that has PFC: its pause came too late for the cable", evidence,
        {fmt::format("mlnx_qos -i {} --cable_len METRES   # sizes the receive buffer's headroom", netdev_of(port))});
  evidence.clear();
  for (const char* name :
       {"rx_discards_phy", "tx_discards_phy", "port_xmit_discards", "rx_dropped.nic", "rx_steer_missed_packets"}) {
    if (const auto* drops = counter(port, name)) evidence.push_back(drops->from);
  }
  if (!evidence.empty())
    findings.add("rx-discards", host.name + " " + port.name(), "packets were discarded at the port", evidence,
                 {"check that RoCE has a priority with PFC: mlnx_qos -i " + netdev_of(port),
                  fmt::format("ethtool -S {} | grep -E 'discard|pause|prio'", netdev_of(port))});
}

void check_retransmissions(const HostState& host, const NicPort& port, Findings& findings) {
  // One packet in a million, or a hundred where packets are not counted: less is a port that went down once. Estimate.
  const std::uint64_t packets =
      port.count("rx_vport_rdma_unicast_packets") + port.count("tx_vport_rdma_unicast_packets");
  const std::uint64_t tolerated = packets > 0 ? packets / 1'000'000 : 100;
  std::vector<Evidence> evidence;
  for (const char* name : {"packet_seq_err", "out_of_sequence", "implied_nak_seq_err", "local_ack_timeout_err"}) {
    const auto* errors = counter(port, name);
    if (errors != nullptr && errors->value > tolerated) evidence.push_back(errors->from);
  }
  if (const auto* errors = counter(port, "req_transport_retries_exceeded")) evidence.push_back(errors->from);
  if (!evidence.empty())
    findings.add("retransmissions", host.name + " " + port.name(),
                 "RDMA packets were lost on the way and retransmitted", evidence,
                 {"look for drops at the switches: show priority-group drop counters, show interfaces counters",
                  "capture one pair and look: weft perftest, tshark"});
}

void check_pauses(const HostState& host, const NicPort& port, Findings& findings) {
  constexpr double kTolerated = 0.01;  // of the time since boot; estimate
  const Seen<std::string>* uptime = host.file_line("/proc/uptime");
  const auto up_s = uptime == nullptr ? std::nullopt : leading_decimal(uptime->value);
  if (!up_s || *up_s <= 0) return;
  for (int priority = 0; priority < 8; ++priority) {
    for (const char* side : {"rx", "tx"}) {
      const auto* duration_us = counter(port, fmt::format("{}_prio{}_pause_duration", side, priority));
      if (duration_us == nullptr) continue;
      const double share = static_cast<double>(duration_us->value) / 1e6 / *up_s;
      if (share < kTolerated) continue;
      const bool receives = side[0] == 'r';
      findings.add("pauses", host.name + " " + port.name(),
                   fmt::format("priority {} was paused {} of the time since boot{}", priority, share_text(share),
                               receives ? " by the switch: congestion behind it"
                                        : ", by this host: it does not take packets fast enough"),
                   {duration_us->from, uptime->from},
                   receives ? std::vector<std::string>{"look for the port that pauses the switch: show pfc counters",
                                                       "check that ECN marks before PFC pauses (its thresholds)"}
                            : std::vector<std::string>{"check PCIe generation, lanes and NUMA placement of this NIC",
                                                       "ethtool -S " + netdev_of(port) + " | grep pci"});
    }
  }
}

void check_ring(const HostState& host, const NicPort& port, Findings& findings) {
  constexpr std::uint64_t kDefaultRing = 1024;  // mlx5
  if (!port.ring_rx || !port.ring_rx_max || port.ring_rx->value >= port.ring_rx_max->value) return;
  const auto* overflow = counter(port, "rx_out_of_buffer");
  if (overflow == nullptr) overflow = counter(port, "rx_missed_errors");
  if (overflow == nullptr && port.ring_rx->value >= kDefaultRing) return;
  std::vector<Evidence> evidence{port.ring_rx->from, port.ring_rx_max->from};
  if (overflow != nullptr) evidence.push_back(overflow->from);
  findings.add("rx-ring", host.name + " " + port.name(),
               overflow != nullptr ? fmt::format("{} packets found no free entry in an RX ring of {}; {} are possible",
                                                 overflow->value, port.ring_rx->value, port.ring_rx_max->value)
                                   : fmt::format("the RX ring has {} entries; {} are possible", port.ring_rx->value,
                                                 port.ring_rx_max->value),
               evidence, {fmt::format("ethtool -G {} rx {}", netdev_of(port), port.ring_rx_max->value)});
}

void check_switch_counters(const SwitchState& device, Findings& findings) {
  for (const auto& [name, port] : device.ports) {
    for (const auto& [queue, storm] : port.storms)
      findings.add(
          "watchdog-storm", device.name + " " + name,
          fmt::format("the watchdog found a PFC storm on queue {} (detected/restored {}): {} pauses without end", queue,
                      storm.value, port.neighbour_host.empty() ? "the peer" : port.neighbour_host),
          {storm.from},
          {"find out why the peer does not take packets: weft doctor on it",
           switch_command(device, name, SwitchTask::kDown) + "   # until then"});
    for (const auto& [group, drops] : port.group_drops) {
      if (drops.value == 0 || !port.pfc || (port.pfc->value >> std::min(group, 7u) & 1) == 0) continue;
      findings.add(
          "lossless-drops", device.name + " " + name,
          fmt::format("{} packets of priority group {}, which has PFC, were dropped: headroom too small for the cable",
                      drops.value, group),
          {drops.from},
          {switch_command(device, name, SwitchTask::kCable, {group, 0, ""}),
           switch_command(device, name, SwitchTask::kDrops)});
    }
  }
}

}  // namespace

void check_counters(const Site& site, Findings& findings) {
  for (const HostState& host : site.hosts) {
    for (const NicPort& port : host.ports) {
      check_storms(host, port, findings);
      check_drops(host, port, findings);
      check_retransmissions(host, port, findings);
      check_pauses(host, port, findings);
      check_ring(host, port, findings);
    }
  }
  for (const SwitchState& device : site.switches) check_switch_counters(device, findings);
}

}  // namespace weft::gear
