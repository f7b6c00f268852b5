// The checks of the doctor, one file each, and what they share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gear/doctor/doctor.h"

namespace weft::gear {

void check_links(const Site& site, Findings& findings);
void check_addresses(const Site& site, Findings& findings);
void check_mtu(const Site& site, Findings& findings);
void check_contract(const Site& site, Findings& findings);
void check_switches(const Site& site, Findings& findings);
void check_cables(const Site& site, Findings& findings);
void check_pcie(const Site& site, Findings& findings);
void check_gpu_direct(const Site& site, Findings& findings);
void check_counters(const Site& site, Findings& findings);
void check_system(const Site& site, Findings& findings);
void check_firmware(const Site& site, Findings& findings);
std::vector<std::string> unchecked_of(const Site& site);

// A port of a host; those that are up are compared.
struct SitePort {
  const HostState* host;
  const NicPort* port;
  std::string name() const { return host->name + " " + port->name(); }
};
std::vector<SitePort> ports_up(const Site& site, bool ethernet_only);

// The switch ports that this port may be cabled to: the one that LLDP, DEVICE_NEIGHBOR or a description names; where
// nothing names one, all that carry traffic. What none of them fits is wrong whichever it is.
struct SwitchEnd {
  const SwitchState* device;
  const SwitchPort* port;
  bool named;
  std::string name() const { return device->name + " " + port->name; }
};
std::vector<SwitchEnd> switch_ends(const Site& site, const SitePort& port);

// Which DSCP RoCE is sent with, where something sets it.
Maybe<std::uint64_t> roce_dscp(const HostState& host, const NicPort& port);
// The priority of that DSCP; else the lowest that has PFC.
std::optional<std::uint32_t> roce_priority(const HostState& host, const NicPort& port);
// "3" or "3, 4", "none".
std::string priorities_text(std::uint8_t mask);
// The value of KEY=VALUE in /etc/nccl.conf.
Maybe<std::string> nccl_setting(const HostState& host, const std::string& key);
// A word of the kernel's command line: "iommu" finds iommu=pt, as "pt".
std::optional<std::string> kernel_argument(const HostState& host, std::string_view name);
// The interface, or a place to write its name.
std::string netdev_of(const NicPort& port);

// Values of several ports, of which most should be equal: the odd ones against the most frequent.
struct Opinion {
  std::string who, value;
  Evidence from;
};
struct Disagreement {
  std::string usual;               // empty where no value has a majority
  std::vector<Opinion> odd;        // those that differ from it; all, where none has
  std::vector<Evidence> evidence;  // of the odd ones, then one of the usual
};
std::optional<Disagreement> disagreement(const std::vector<Opinion>& opinions);
// "gpu03 mlx5_0: 4; the others: 3"
std::string disagreement_text(const Disagreement& disagreement);

}  // namespace weft::gear
