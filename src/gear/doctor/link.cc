// The physical layer: is there a device, a link, the right link layer, a subnet manager, the full rate.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gear/doctor/checks.h"
#include "gear/doctor/switch_commands.h"

namespace weft::gear {

namespace {

bool is_known_nic(const PciDevice& device) {
  return device.name.find("ConnectX") != device.name.npos || device.name.find("BlueField") != device.name.npos ||
         device.name.find("E810") != device.name.npos;
}

void check_devices(const HostState& host, Findings& findings) {
  if (!host.ports.empty() || !host.devices_listed) return;
  std::vector<Evidence> evidence;
  std::string fix = host.pci.empty() ? "weft inspect on the host itself: in a container lspci and /sys may show nothing"
                                     : "install an RDMA NIC; lspci shows none";
  for (const auto& [address, device] : host.pci) {
    if (!is_known_nic(device)) continue;
    // Given to a virtual machine: its devices are the guest's.
    if (device.driver == "vfio-pci") return;
    evidence.push_back(device.from);
    fix = device.name.find("E810") == device.name.npos ? "modprobe mlx5_ib" : "modprobe irdma roce_ena=1";
  }
  if (evidence.empty()) evidence.push_back({host.file, "ls -d /sys/class/infiniband/*", 0, ""});
  findings.add("no-rdma-device", host.name,
               evidence.front().line == 0 ? "/sys/class/infiniband has no device"
                                          : "the card is there, its RDMA driver is not: /sys/class/infiniband is empty",
               evidence, {fix});
}

// IFF_UP is not set: the port is not in use.
bool is_administratively_down(const HostState& host, const NicPort& port) {
  const Seen<std::string>* flags = host.file_line("/sys/class/net/" + port.netdev + "/flags");
  const auto bits = flags == nullptr ? std::nullopt : leading_hex(flags->value);
  return bits && (*bits & 1) == 0;
}

void check_link(const Site& site, const HostState& host, const NicPort& port, Findings& findings) {
  const bool initializing = port.state && port.state->value.starts_with("init");
  if (port.is_infiniband() && initializing && port.phys_state && port.phys_state->value == "linkup") {
    findings.add(
        "no-subnet-manager", host.name + " " + port.name(),
        "the link is up and the port waits for a subnet manager: nothing is routed until one gives it a LID",
        {port.state->from, port.phys_state->from},
        {"on one node: systemctl enable --now opensm", "in production: enable the subnet manager of the switch"});
    return;
  }
  if (port.is_up()) return;
  const bool another_up =
      std::any_of(host.ports.begin(), host.ports.end(), [](const NicPort& other) { return other.is_up(); });
  // A virtual function that nobody uses has no link of its own.
  const PciDevice* card = host.pci_of(port);
  const bool is_virtual = card != nullptr && card->name.find("Virtual Function") != card->name.npos;
  if ((is_administratively_down(host, port) || is_virtual) && another_up) return;
  bool ethernet_up = false;
  for (const SitePort& other : ports_up(site, true)) ethernet_up = ethernet_up || other.port->link_layer.has_value();
  std::vector<Evidence> evidence;
  if (port.link) evidence.push_back(port.link->from);
  if (port.state) evidence.push_back(port.state->from);
  if (port.phys_state) evidence.push_back(port.phys_state->from);
  if (port.is_infiniband() && ethernet_up) {
    evidence.insert(evidence.begin(), port.link_layer->from);
    findings.add("link-layer", host.name + " " + port.name(),
                 "the port is set to InfiniBand and has no link; other ports here are Ethernet", evidence,
                 {fmt::format("mlxconfig -d {} set LINK_TYPE_P{}=2", port.pci.empty() ? "DEVICE" : port.pci, port.port),
                  "reboot"});
    return;
  }
  std::vector<std::string> fix;
  for (const SwitchEnd& end : switch_ends(site, {&host, &port})) {
    if (!end.named) continue;
    const bool down = end.port->admin && end.port->admin->value == "down";
    if (down) {
      evidence.push_back(end.port->admin->from);
      fix.push_back(switch_command(*end.device, end.port->name, SwitchTask::kUp));
    }
  }
  if (!port.netdev.empty()) fix.push_back(fmt::format("ip link set dev {} up", port.netdev));
  fix.push_back("check the cable and the transceiver at both ends");
  fix.push_back(fmt::format("mlxlink -d {} --show_module", port.device));
  findings.add("link-down", host.name + " " + port.name(), "the port has no link", evidence, fix);
}

// True: it is below what the port can do.
bool check_rate(const Site& site, const HostState& host, const NicPort& port, Findings& findings) {
  const PciDevice* card = host.pci_of(port);
  std::vector<Evidence> evidence;
  double now_Gbps = 0, full_Gbps = 0;
  if (port.speed_Mbps && port.supported_Mbps) {
    now_Gbps = static_cast<double>(port.speed_Mbps->value) / 1000;
    full_Gbps = static_cast<double>(port.supported_Mbps->value) / 1000;
    evidence = {port.speed_Mbps->from, port.supported_Mbps->from};
  } else if (port.rate_Gbps && card != nullptr && card->product_Gbps) {
    now_Gbps = port.rate_Gbps->value;
    full_Gbps = card->product_Gbps->value;
    evidence = {port.rate_Gbps->from, card->product_Gbps->from};
  } else if (port.rate_Gbps && port.board) {
    now_Gbps = port.rate_Gbps->value;
    for (const SitePort& other : ports_up(site, false)) {
      const bool same = other.port->board && other.port->board->value == port.board->value && other.port->rate_Gbps;
      if (!same || other.port->rate_Gbps->value <= std::max(now_Gbps, full_Gbps)) continue;
      full_Gbps = other.port->rate_Gbps->value;
      evidence = {port.rate_Gbps->from, other.port->rate_Gbps->from};
    }
  }
  if (now_Gbps <= 0 || now_Gbps >= full_Gbps) return false;
  std::vector<std::string> fix;
  std::string why = "bad cable, wrong cable length, or a switch port that is forced to a lower speed";
  if (port.advertised_Mbps && static_cast<double>(port.advertised_Mbps->value) / 1000 < full_Gbps) {
    why = "the NIC advertises no more";
    evidence.push_back(port.advertised_Mbps->from);
    fix.push_back(fmt::format("ethtool -s {} autoneg on speed {:.0f} duplex full", netdev_of(port), full_Gbps * 1000));
  } else if (port.partner_Mbps && static_cast<double>(port.partner_Mbps->value) / 1000 < full_Gbps) {
    why = "the other end advertises no more";
    evidence.push_back(port.partner_Mbps->from);
  }
  for (const SwitchEnd& end : switch_ends(site, {&host, &port})) {
    if (!end.named || !end.port->speed_Mbps || static_cast<double>(end.port->speed_Mbps->value) / 1000 >= full_Gbps)
      continue;
    evidence.push_back(end.port->speed_Mbps->from);
    fix.push_back(switch_command(*end.device, end.port->name, SwitchTask::kSpeed,
                                 {static_cast<std::uint64_t>(full_Gbps * 1000), 0, ""}));
  }
  fix.push_back(fmt::format("mlxlink -d {} --show_module   # cable type and length; then another cable", port.device));
  findings.add("link-rate", host.name + " " + port.name(),
               fmt::format("the link is at {} Gb/s of {}: {}", now_Gbps, full_Gbps, why), evidence, fix);
  return true;
}

// Rates that a single host does not show: its card can do no more, or nothing says what it can do. InfiniBand has rates
// of its own.
void check_rates(const Site& site, bool infiniband, const std::set<const HostState*>& known, Findings& findings) {
  std::vector<Opinion> opinions;
  for (const HostState& host : site.hosts) {
    std::vector<double> rates_Gbps;
    const Evidence* slowest = nullptr;
    for (const NicPort& port : host.ports) {
      if (port.is_infiniband() != infiniband || !port.is_up() || (!port.speed_Mbps && !port.rate_Gbps)) continue;
      const double rate_Gbps =
          port.speed_Mbps ? static_cast<double>(port.speed_Mbps->value) / 1000 : port.rate_Gbps->value;
      const Evidence& from = port.speed_Mbps ? port.speed_Mbps->from : port.rate_Gbps->from;
      if (slowest == nullptr || rate_Gbps < *std::min_element(rates_Gbps.begin(), rates_Gbps.end())) slowest = &from;
      rates_Gbps.push_back(rate_Gbps);
    }
    if (rates_Gbps.empty() || known.contains(&host)) continue;
    std::sort(rates_Gbps.rbegin(), rates_Gbps.rend());
    // Each once: a port that has no link, or a card more, is no other rate.
    rates_Gbps.erase(std::unique(rates_Gbps.begin(), rates_Gbps.end()), rates_Gbps.end());
    opinions.push_back({host.name, fmt::format("{} Gb/s", fmt::join(rates_Gbps, " and ")), *slowest});
  }
  if (const auto odd = disagreement(opinions))
    findings.add("rate-differs", odd->odd.front().who, "rates of RDMA ports differ: " + disagreement_text(*odd),
                 odd->evidence,
                 {"ethtool INTERFACE   # Supported link modes: what the card can do, on the slower hosts",
                  "another cable, or no forced speed at the switch port; or another card, where it can do no more"});
}

void check_link_layers(const Site& site, Findings& findings) {
  std::vector<Opinion> opinions;
  for (const HostState& host : site.hosts) {
    std::set<std::string> layers;
    const NicPort* last = nullptr;
    for (const NicPort& port : host.ports) {
      if (!port.link_layer || !port.is_up()) continue;
      layers.insert(port.link_layer->value);
      last = &port;
    }
    if (layers.empty()) continue;
    std::string text;
    for (const std::string& layer : layers) text += (text.empty() ? "" : " and ") + layer;
    opinions.push_back({host.name, text, last->link_layer->from});
  }
  if (const auto odd = disagreement(opinions))
    findings.add("link-layer", odd->odd.front().who, "link layers differ: " + disagreement_text(*odd), odd->evidence,
                 {"mlxconfig -d DEVICE set LINK_TYPE_P1=2   # 1 InfiniBand, 2 Ethernet", "reboot"});
}

void check_subnet_managers(const Site& site, Findings& findings) {
  std::vector<const HostState*> running;
  for (const HostState& host : site.hosts) {
    const bool infiniband =
        std::any_of(host.ports.begin(), host.ports.end(), [](const NicPort& p) { return p.is_infiniband(); });
    if (host.opensm && infiniband) running.push_back(&host);
  }
  const char* const stop = "systemctl disable --now opensm   # on all but one node; on all, where the switch runs one";
  if (running.size() > 1) {
    std::vector<Evidence> evidence;
    std::string names;
    for (const HostState* host : running) {
      evidence.push_back(host->opensm->from);
      names += (names.empty() ? "" : ", ") + host->name;
    }
    findings.add("two-subnet-managers", names, fmt::format("opensm runs on {} nodes: {}", running.size(), names),
                 evidence, {stop});
    return;
  }
  for (const HostState* host : running) {
    if (!host->sm_master) continue;
    const auto master = leading_hex(host->sm_master->value);
    const bool own = std::any_of(host->ports.begin(), host->ports.end(), [&](const NicPort& port) {
      return port.guid && master && port.guid->value == *master;
    });
    const bool known =
        std::any_of(host->ports.begin(), host->ports.end(), [](const NicPort& port) { return port.guid.has_value(); });
    if (own || !known) continue;
    findings.add("two-subnet-managers", host->name,
                 fmt::format("opensm runs here, and the master subnet manager is {}", host->sm_master->value),
                 {host->opensm->from, host->sm_master->from}, {stop});
  }
}

}  // namespace

void check_links(const Site& site, Findings& findings) {
  std::set<const HostState*> below_rate;
  for (const HostState& host : site.hosts) {
    check_devices(host, findings);
    for (const NicPort& port : host.ports) {
      check_link(site, host, port, findings);
      if (port.is_up() && check_rate(site, host, port, findings)) below_rate.insert(&host);
    }
  }
  for (bool infiniband : {false, true}) check_rates(site, infiniband, below_rate, findings);
  check_link_layers(site, findings);
  check_subnet_managers(site, findings);
}

}  // namespace weft::gear
