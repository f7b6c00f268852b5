#include "live/view/node_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace weft::live {

namespace {

std::pair<unsigned, unsigned> pci_id(const nic::NicModel& model) {
  unsigned vendor = 0, device = 0;
  std::sscanf(model.pci_id.c_str(), "%x:%x", &vendor, &device);
  return {vendor, device};
}

}  // namespace

std::uint32_t NodePort::pci_vendor() const {
  return pci_id(*model).first;
}
std::uint32_t NodePort::pci_device() const {
  return pci_id(*model).second;
}

std::vector<NodePort> ports_of(lab::World& world, const VerbsService& service, std::uint32_t host) {
  std::vector<NodePort> ports;
  for (std::uint32_t i = 0; i < world.host(host).device_count(); ++i) {
    NodePort port;
    port.device = i;
    port.port = world.host(host).device(i).port_id();
    port.ref = service.port_ref(i);
    port.index = kLoopbackIndex + 1 + static_cast<int>(i);
    const lab::NicConfig& nic = world.lab().hosts[host].nics[port.ref.nic];
    port.config = &nic.ports[port.ref.port];
    port.model = &nic.model;
    port.info = service.describe(i);
    port.netdev = port.info.netdev;
    port.rdma = port.info.name;
    port.pci = port.info.pci_address;
    port.mac = world.book()[port.port].mac;
    std::copy_n(port.info.gids[0].raw, port.link_local.size(), port.link_local.begin());
    for (const lab::WorldLink& link : world.links()) {
      if (link.from == port.port) port.link = link.config;
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

lab::PortOutcome count(lab::World& world, const NodePort& port, Time_ps now_ps) {
  nic::Device& device = *world.device(port.port);
  lab::PortOutcome outcome;
  outcome.name = world.book()[port.port].name;
  outcome.device = device.name();
  outcome.rate_bps = world.rate_bps(port.port);
  outcome.counters = device.counters();
  for (std::size_t c = 0; c < fabric::kClasses; ++c) {
    outcome.pause_rx[c] = device.pauses().received().frames(c);
    outcome.pause_rx_transitions[c] = device.pauses().received().transitions(c);
    outcome.pause_rx_ps[c] = device.pauses().received().total_ps(c, now_ps);
    outcome.counters.tx_pause_ps[c] = device.pauses().sent_ps(c, now_ps);
  }
  return outcome;
}

InterfaceCounters interface_counters(const lab::PortOutcome& counted) {
  InterfaceCounters c;
  c.rx_packets = counted.counters.ip_rx.packets;
  c.rx_bytes = counted.counters.ip_rx.bytes;
  c.tx_packets = counted.counters.ip_tx.packets;
  c.tx_bytes = counted.counters.ip_tx.bytes;
  c.rx_crc_errors = c.rx_errors = counted.counters.rx_crc_errors_phy;
  return c;
}

std::string mac_text(const std::array<std::uint8_t, 6>& mac) {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

}  // namespace weft::live
