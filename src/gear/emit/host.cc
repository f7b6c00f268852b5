#include "gear/emit/host.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "catalog/catalog.h"
#include "gear/emit/host_plan.h"
#include "spec/layout.h"

namespace weft::gear {
namespace {

// "15b3:1017" -> "mt4119_pciconf0": mst names a device by its number in decimal.
std::string mst_name(const std::string& pci_id, std::uint32_t index) {
  std::uint32_t id = 0;
  const std::size_t colon = pci_id.find(':');
  if (colon == pci_id.npos) return "";
  std::from_chars(pci_id.data() + colon + 1, pci_id.data() + pci_id.size(), id, 16);
  return fmt::format("mt{}_pciconf{}", id, index);
}

const lab::LinkConfig* host_link(const lab::Lab& lab, const lab::PortRef& port, lab::PortRef& peer) {
  const lab::PortRef carrier = lab::carrier_of(lab, port);
  for (const lab::LinkConfig& link : lab.links) {
    if (link.a != carrier && link.b != carrier) continue;
    peer = link.a == carrier ? link.b : link.a;
    return &link;
  }
  return nullptr;
}

// As `nvidia-smi topo -m` has it; a GPU or a NIC without a slot has a root port beside the other.
host::PathClass distance(const lab::HostConfig& host, const lab::NicConfig& nic, const host::GpuPlace& gpu) {
  if (!nic.slot || !gpu.slot || !host.model.layout) return host::PathClass::kPhb;
  return host::path_class(*host.model.layout, *nic.slot, *gpu.slot);
}

// The nearest GPU of a NIC; of several as near, one that the fewest NICs before it have.
std::optional<std::uint32_t> nearest_gpu(const lab::HostConfig& host, const lab::NicConfig& nic,
                                         const std::vector<const host::GpuPlace*>& gpus,
                                         std::vector<std::uint32_t>& taken) {
  std::optional<std::uint32_t> best;
  const auto rank = [&](std::uint32_t gpu) { return std::pair(distance(host, nic, *gpus[gpu]), taken[gpu]); };
  for (std::uint32_t gpu = 0; gpu < gpus.size(); ++gpu) {
    if (!best || rank(gpu) < rank(*best)) best = gpu;
  }
  if (best) ++taken[*best];
  return best;
}

std::int64_t set_read_request_B(const nic::NicModel& model) {
  const nic::NicModel* usual = lab::Catalog::built_in().nic(model.name);
  return usual != nullptr && usual->pcie_max_read_request_B != model.pcie_max_read_request_B
             ? std::int64_t{model.pcie_max_read_request_B}
             : 0;
}

// Weights of the leaf's queues, as shares of a hundred.
HostScheduler scheduler_of(const fabric::SwitchQos& qos) {
  HostScheduler made;
  made.class_of_priority = qos.queue_of_priority;
  std::uint32_t all = 0;
  std::array<bool, 8> used{};
  for (std::uint8_t queue : qos.queue_of_priority) used[queue] = true;
  for (std::size_t q = 0; q < 8; ++q) {
    made.strict[q] = !used[q] || qos.queues[q].scheduling == fabric::Scheduling::kStrict;
    if (!made.strict[q]) all += qos.queues[q].weight;
  }
  std::uint32_t given = 0;
  std::size_t last = 0;
  for (std::size_t q = 0; q < 8; ++q) {
    if (made.strict[q]) continue;
    made.percent[q] = qos.queues[q].weight * 100 / all;
    given += made.percent[q];
    last = q;
  }
  if (all > 0) made.percent[last] += 100 - given;
  return made;
}

}  // namespace

std::vector<const host::GpuPlace*> own_gpus(const lab::Lab& lab, std::uint32_t index) {
  std::vector<const host::GpuPlace*> gpus;
  const auto& all = lab.hosts[index].places.gpus;
  for (std::uint32_t gpu = 0; gpu < all.size(); ++gpu) {
    const bool passed = std::any_of(lab.hosts.begin(), lab.hosts.end(), [&](const lab::HostConfig& other) {
      const auto& given = other.places.passed_gpus;
      return other.vm && other.vm->host == index && std::find(given.begin(), given.end(), gpu) != given.end();
    });
    if (!passed) gpus.push_back(&all[gpu]);
  }
  return gpus;
}

HostPlan host_plan(const lab::Lab& lab, std::uint32_t index, const RoutingPlan& plan, const EmitOptions& options) {
  const lab::HostConfig& host = lab.hosts[index];
  HostPlan made;
  made.name = host.name;
  made.lab = lab.name;
  made.qos = host.qos;
  made.priority_of_dscp = host.qos.priority_of_dscp;
  made.priority_of_dscp[host.qos.dscp] = host.qos.priority;
  made.priority_of_dscp[host.qos.cnp_dscp] = host.qos.cnp_priority;
  made.rx_ring = host.model.rx_ring;
  made.rx_usecs = host.model.rx_usecs_ps / kMicrosecond_ps;
  made.huge_pages = host.huge_pages;
  made.management = options.management.value_or("eno1");
  made.vm = host.vm.has_value();
  const auto gpus = own_gpus(lab, index);
  made.gpus = gpus.size();
  for (const host::GpuPlace* gpu : gpus) {
    made.gpu_api = gpu->model.api;
    made.gpudirect = made.gpudirect || (host.places.gpudirect && gpu->model.peermem && gpu->model.api == "cuda");
  }
  const auto is_mlx5 = [](const lab::NicConfig& nic) { return nic.model.driver == "mlx5"; };
  made.mlx5 = std::all_of(host.nics.begin(), host.nics.end(), is_mlx5);
  made.any_mlx5 = std::any_of(host.nics.begin(), host.nics.end(), is_mlx5);
  // The rule: OFED where GPUDirect or NCCL is in scope, in-tree drivers elsewhere.
  made.ofed = made.mlx5 && made.gpus > 0;
  made.reason = !made.any_mlx5  ? "the NIC is not NVIDIA's"
                : !made.mlx5    ? "irdma needs the kernel's RDMA core, which MLNX_OFED replaces"
                : made.gpus > 0 ? "GPUDirect and NCCL want the drivers that nvidia-peermem was tested with"
                                : "no GPU here: what the distribution ships is enough";
  if (options.stack.value_or(DriverStack::kAuto) != DriverStack::kAuto && made.mlx5) {
    made.ofed = options.stack == DriverStack::kOfed;
    made.reason = "asked for";
  }
  std::vector<std::uint32_t> taken(gpus.size());
  std::uint32_t bonds = 0;
  for (std::uint32_t n = 0; n < host.nics.size(); ++n) {
    const lab::NicConfig& nic = host.nics[n];
    const auto gpu = nearest_gpu(host, nic, gpus, taken);
    for (std::uint32_t p = 0; p < nic.ports.size(); ++p) {
      const lab::PortRef ref{index, n, p};
      HostPort port;
      const lab::PortRef addressed = first_of_bond(lab, ref);
      const lab::PortConfig& config = nic.ports[addressed.port];
      port.interface = nic.ports[p].name;
      port.second_of_bond = addressed != ref;
      if (in_bond(lab, ref)) port.bond = fmt::format("bond{}", bonds - (port.second_of_bond ? 1U : 0U));
      bonds += !port.bond.empty() && !port.second_of_bond ? 1 : 0;
      port.device = lab::device_name(lab, addressed);
      port.mlx5 = is_mlx5(nic);
      port.vf = lab::is_vf(lab, ref);
      if (port.mlx5 && !port.vf) port.mst = mst_name(nic.model.pci_id, n) + (p == 0 ? "" : fmt::format(".{}", p));
      port.address = lab::to_string(config.address);
      port.prefix_bits = config.prefix_bits;
      port.mtu_B = config.netdev_mtu_B;
      port.vlan = config.vlan;
      port.rate_bps = nic.model.line_rate_bps;
      port.min_time_between_cnps_us = nic.model.min_time_between_cnps_ps / kMicrosecond_ps;
      port.relaxed_ordering = nic.model.pcie_relaxed_ordering;
      port.gpu = gpu;
      if (p == 0 && !port.vf) port.max_read_request_B = set_read_request_B(nic.model);
      lab::PortRef peer;
      if (const lab::LinkConfig* link = host_link(lab, ref, peer)) {
        port.cabled = true;
        port.fec = link->fec;
        port.rate_bps = link->rate_bps;
        port.cable_m = whole_metres(link->length_mm);
        if (peer.is_switch() && !lab.switches[peer.host].forwarder && !made.scheduler)
          made.scheduler = scheduler_of(lab.switches[peer.host].qos);
        const std::string own = lab::subnet_text(config.address, config.prefix_bits);
        if (!port.second_of_bond) made.connected.push_back(own);
        if (plan.routed && plan.problems.empty() && !port.second_of_bond) {
          port.routes = reachable_subnets(plan, own);
          if (!port.routes.empty()) port.gateway = gateway_of(lab, plan, ref);
          port.alone = port.routes.empty();
        }
      }
      made.ports.push_back(std::move(port));
    }
  }
  return made;
}

std::string host_head(const HostPlan& plan, std::string_view what) {
  return fmt::format("# {} of the lab {}: {}\n", plan.name, plan.lab, what);
}

void emit_host(const lab::Lab& lab, std::uint32_t host, const RoutingPlan& plan, const EmitOptions& options,
               SwitchOutput& out) {
  const HostPlan made = host_plan(lab, host, plan, options);
  const nic::PortQos& qos = made.qos;
  if (qos.congestion.kind != nic::CongestionKind::kDcqcn && qos.congestion.kind != nic::CongestionKind::kOff)
    out.note("congestion control: the firmware has DCQCN; other algorithms of the lab run in the simulation only");
  if (!made.mlx5) {
    std::vector<std::string> irdma;
    for (const HostPort& port : made.ports) {
      if (!port.mlx5) irdma.push_back(port.interface);
    }
    out.note(fmt::format("DCQCN parameters of {}: the in-tree irdma has no knobs for them", fmt::join(irdma, ", ")));
    if (options.stack == DriverStack::kOfed) out.note("MLNX_OFED: " + made.reason);
  }
  out.note("interface names are the lab's port names: rename them with a .link file, or edit them here");
  if (std::any_of(made.ports.begin(), made.ports.end(), [](const HostPort& port) { return port.vf; }))
    out.note("firmware settings of virtual functions: they are those of the card, at the hypervisor");
  std::vector<std::string> alone;
  for (const HostPort& port : made.ports) {
    if (port.alone) alone.push_back(port.layer3());
  }
  if (!alone.empty())
    out.note(fmt::format("routes of {} to other subnets: no link leads there from {}", fmt::join(alone, ", "),
                         alone.size() == 1 ? "its leaf" : "their leaves"));
  out.file("roce-qos.sh", host_qos_script(made, out), true);
  out.file("roce-qos.service", host_qos_unit(made));
  host_network(made, options.network.value_or(Network::kNetplan), out);
  out.file("90-roce-sysctl.conf", host_sysctl(made));
  out.file("drivers.sh", host_drivers(made), true);
  const bool cards =
      std::any_of(made.ports.begin(), made.ports.end(), [](const auto& each) { return !each.mst.empty(); });
  if (made.any_mlx5 && cards) out.file("mlxconfig.sh", host_mlxconfig(made), true);
  if (made.gpudirect)
    out.file("nvidia-peermem.conf",
             "# /etc/modprobe.d/nvidia-peermem.conf: after the RDMA stack and the GPU's driver\n"
             "softdep nvidia_peermem pre: mlx5_ib nvidia\n");
  if (made.gpus > 0) out.file("nccl.conf", nccl_conf(made));
  out.file("check.sh", host_check(made), true);
}

}  // namespace weft::gear
