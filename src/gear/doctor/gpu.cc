// GPUDirect RDMA: nvidia-peermem or DMA-BUF, ACS, IOMMU.
#include <fmt/format.h>

#include <algorithm>

#include "gear/doctor/checks.h"

namespace weft::gear {

namespace {

bool is_vm_host(const HostState& host) {
  return std::any_of(host.pci.begin(), host.pci.end(),
                     [](const auto& each) { return each.second.driver == "vfio-pci"; });
}

// Open kernel modules and a kernel from 5.12 on export GPU memory as DMA-BUF: peermem is not needed.
bool has_dma_buf(const HostState& host) {
  const Seen<std::string>* driver = host.file_line("/proc/driver/nvidia/version");
  const Seen<std::string>* release = host.file_line("/proc/sys/kernel/osrelease");
  if (driver == nullptr || release == nullptr || driver->value.find("Open Kernel Module") == driver->value.npos)
    return false;
  const std::size_t dot = release->value.find('.');
  const std::uint64_t major = leading_number(release->value).value_or(0);
  const std::uint64_t minor =
      dot == release->value.npos ? 0 : leading_number(std::string_view(release->value).substr(dot + 1)).value_or(0);
  return major > 5 || (major == 5 && minor >= 12);
}

void check_peermem(const HostState& host, Findings& findings) {
  if (!host.modules_listed || !host.modules.contains("nvidia") || host.ports.empty()) return;
  if (host.modules.contains("nvidia_peermem") || host.modules.contains("nv_peer_mem")) return;
  const Evidence& driver = host.modules.at("nvidia");
  for (const Seen<std::string>& line : host.log) {
    const bool failed = line.value.find("nvidia_peermem") != line.value.npos &&
                        line.value.find("ib_register_peer_memory_client") != line.value.npos;
    if (!failed) continue;
    findings.add("peermem-load-order", host.name,
                 "nvidia-peermem did not load: it was built against another RDMA stack than the one that runs",
                 {line.from, driver},
                 {"install in this order: OFED, then the NVIDIA driver, which builds nvidia-peermem against it",
                  "dkms status; reinstall the NVIDIA driver; modprobe nvidia-peermem"});
    return;
  }
  for (const auto& [path, lines] : host.files) {
    if (!path.starts_with("/etc/modules-load.d/")) continue;
    for (const Seen<std::string>& line : lines) {
      if (line.value.find("peermem") == line.value.npos || line.value.starts_with("#")) continue;
      findings.add("peermem-load-order", host.name,
                   "nvidia-peermem is to be loaded at boot and is not: it came before the RDMA or the NVIDIA driver",
                   {line.from, driver},
                   {"modprobe nvidia-peermem",
                    "echo 'softdep nvidia-peermem pre: ib_core mlx5_ib nvidia' > /etc/modprobe.d/nvidia-peermem.conf"});
      return;
    }
  }
  if (has_dma_buf(host)) return;
  findings.add("peermem-missing", host.name,
               "nvidia-peermem is not loaded: RDMA to GPU memory goes through host memory", {driver},
               {"modprobe nvidia-peermem", "echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf",
                "check: ib_write_bw --use_cuda=0"});
}

void check_acs(const HostState& host, Findings& findings) {
  std::vector<Evidence> evidence;
  std::string bridges;
  std::size_t count = 0;
  for (const auto& [address, device] : host.pci) {
    if (!device.is_bridge() || !device.acs || !device.acs->value) continue;
    if (++count > 4) continue;
    evidence.push_back(device.acs->from);
    bridges += (bridges.empty() ? "" : ", ") + address;
  }
  if (count == 0) return;
  findings.add("acs", host.name,
               fmt::format("ACS is on at {}{}: traffic between GPU and NIC is sent to the root complex", bridges,
                           count > 4 ? fmt::format(" and {} more", count - 4) : ""),
               evidence,
               {"setpci -s BRIDGE ECAP_ACS+0x6.w=0000   # each bridge above GPUs and NICs, at each boot",
                "or turn ACS off in the firmware setup"});
}

void check_iommu(const HostState& host, Findings& findings) {
  const auto mode = kernel_argument(host, "iommu"), arm = kernel_argument(host, "iommu.passthrough");
  if ((mode && (*mode == "pt" || *mode == "off")) || (arm && *arm == "1")) return;
  std::vector<Evidence> evidence;
  for (const Seen<std::string>& line : host.log) {
    if (line.value.find("iommu: Default domain type: Passthrough") != line.value.npos) return;
    // The kernel says this on machines without an IOMMU too.
    if (host.has_iommu && line.value.find("iommu: Default domain type: Translated") != line.value.npos)
      evidence.push_back(line.from);
  }
  const Seen<std::string>* cmdline = host.file_line("/proc/cmdline");
  for (const char* name : {"intel_iommu", "amd_iommu"}) {
    const auto value = kernel_argument(host, name);
    if (value && *value == "on" && cmdline != nullptr) evidence.push_back(cmdline->from);
  }
  if (evidence.empty()) return;
  findings.add("iommu", host.name, "the IOMMU translates every DMA of the NIC and the GPU", evidence,
               {"grubby --update-kernel=ALL --args=iommu=pt   # or GRUB_CMDLINE_LINUX and update-grub", "reboot"});
}

}  // namespace

void check_gpu_direct(const Site& site, Findings& findings) {
  for (const HostState& host : site.hosts) {
    if (host.ports.empty()) continue;
    check_peermem(host, findings);
    // Passing devices to virtual machines needs ACS.
    if (!host.gpus().empty() && !is_vm_host(host)) check_acs(host, findings);
    check_iommu(host, findings);
  }
}

}  // namespace weft::gear
