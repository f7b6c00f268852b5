// RoCE version and GIDs, and the MTU from the host to the switch.
#include <fmt/format.h>

#include <algorithm>

#include "gear/doctor/checks.h"
#include "gear/doctor/switch_commands.h"
#include "wire/mtu.h"

namespace weft::gear {

namespace {

const GidEntry* usable_gid(const NicPort& port) {
  const GidEntry* found = nullptr;
  for (const GidEntry& gid : port.gids) {
    if (gid.v2 && gid.is_ipv4()) return &gid;
    if (gid.v2 && !gid.is_link_local() && found == nullptr) found = &gid;
  }
  return found;
}

std::uint64_t rdma_mtu_B(const NicPort& port) {
  if (port.active_mtu) return port.active_mtu->value;
  return port.mtu ? wire::path_mtu_from_netdev_mtu(
                        static_cast<std::uint32_t>(std::min<std::uint64_t>(port.mtu->value, 65'536)))
                  : 0;
}

void check_nccl_index(const HostState& host, const NicPort& port, Findings& findings) {
  const auto setting = nccl_setting(host, "NCCL_IB_GID_INDEX");
  const auto index = setting ? leading_number(setting->value) : std::nullopt;
  if (!index || port.gids.empty()) return;
  const auto chosen =
      std::find_if(port.gids.begin(), port.gids.end(), [&](const GidEntry& gid) { return gid.index == *index; });
  const GidEntry* right = usable_gid(port);
  if (right == nullptr || (chosen != port.gids.end() && chosen->v2 && !chosen->is_link_local())) return;
  std::vector<Evidence> evidence{setting->from};
  if (chosen != port.gids.end()) evidence.push_back(chosen->from);
  evidence.push_back(right->from);
  const char* const what = chosen == port.gids.end() ? "is empty"
                           : !chosen->v2             ? "is RoCE v1"
                                                     : "is a link-local address";
  findings.add("gid-index", host.name + " " + port.name(),
               fmt::format("NCCL_IB_GID_INDEX={}: that GID {}; the RoCE v2 GID of the port's address has index {}",
                           *index, what, right->index),
               evidence,
               {fmt::format("in /etc/nccl.conf: NCCL_IB_GID_INDEX={}, or leave the line out: NCCL chooses by itself",
                            right->index)});
}

}  // namespace

void check_addresses(const Site& site, Findings& findings) {
  std::vector<Opinion> indices;
  for (const SitePort& each : ports_up(site, true)) {
    const NicPort& port = *each.port;
    if (port.roce_mode && port.roce_mode->value.find("v1") != port.roce_mode->value.npos)
      findings.add("roce-v1", each.name(), "RDMA CM uses RoCE v1 by default: ethertype 0x8915, which is not routed",
                   {port.roce_mode->from}, {fmt::format("cma_roce_mode -d {} -p {} -m 2", port.device, port.port)});
    if (port.gids.empty()) continue;
    const GidEntry* gid = usable_gid(port);
    if (gid == nullptr) {
      std::vector<Evidence> evidence;
      for (const GidEntry& other : port.gids) evidence.push_back(other.from);
      if (evidence.size() > 4) evidence.resize(4);
      findings.add("gid-missing", each.name(),
                   "no RoCE v2 GID of an IP address: the interface has none, or RoCE v2 is off", evidence,
                   {fmt::format("ip addr add ADDRESS/PREFIX dev {}", netdev_of(port)), "show_gids"});
      continue;
    }
    indices.push_back({each.name(), std::to_string(gid->index), gid->from});
    check_nccl_index(*each.host, port, findings);
  }
  if (const auto odd = disagreement(indices))
    findings.add(
        "gid-index", odd->odd.front().who,
        "the index of the RoCE v2 GID differs, one value for all hosts does not work: " + disagreement_text(*odd),
        odd->evidence,
        {"give each end its own: ib_write_bw -x INDEX", "unset NCCL_IB_GID_INDEX: NCCL chooses by itself"});
}

void check_mtu(const Site& site, Findings& findings) {
  std::vector<Opinion> mtus;
  for (const SitePort& each : ports_up(site, true)) {
    const NicPort& port = *each.port;
    const std::uint64_t rdma_B = rdma_mtu_B(port);
    const std::string set = fmt::format(
        "ip link set dev {} mtu 9000   # and for the next boot: nmcli connection modify {} 802-3-ethernet.mtu 9000",
        netdev_of(port), netdev_of(port));
    if (rdma_B > 0 && rdma_B < 4096 && (!port.max_mtu || port.max_mtu->value >= 4096)) {
      std::vector<Evidence> evidence;
      if (port.active_mtu) evidence.push_back(port.active_mtu->from);
      if (port.mtu) evidence.push_back(port.mtu->from);
      findings.add("mtu-small", each.name(),
                   port.mtu
                       ? fmt::format("an interface MTU of {} gives RDMA an MTU of {}; 4200 and more give 4096",
                                     port.mtu->value, rdma_B)
                       : fmt::format("RDMA has an MTU of {}; an interface MTU of 4200 and more gives 4096", rdma_B),
                   evidence, {set});
    }
    if (!port.mtu) continue;
    mtus.push_back({each.name(), std::to_string(port.mtu->value), port.mtu->from});
    const auto ends = switch_ends(site, each);
    const bool fits = std::any_of(ends.begin(), ends.end(), [&](const SwitchEnd& end) {
      return !end.port->mtu || end.port->mtu->value >= port.mtu->value;
    });
    if (ends.empty() || fits) continue;
    const SwitchEnd& end = ends.front();
    findings.add("mtu-chain", each.name(),
                 fmt::format("the host sends up to {} B, {} takes {} B: larger packets are dropped silently",
                             port.mtu->value, end.name(), end.port->mtu->value),
                 {port.mtu->from, end.port->mtu->from},
                 {switch_command(*end.device, end.port->name, SwitchTask::kMtu)});
  }
  if (const auto odd = disagreement(mtus))
    findings.add("mtu-differs", odd->odd.front().who, "interface MTUs differ: " + disagreement_text(*odd),
                 odd->evidence, {"ip link set dev INTERFACE mtu 9000   # the same on all hosts"});
}

}  // namespace weft::gear
