// Which CPUs, memory and devices each virtual machine of one host gets, so that its vCPUs and memory are on the NUMA
// nodes of its devices. The rules:
// - a VM has cores of every NUMA node that one of its devices is on; VMs on the same node share its cores evenly;
// - the host keeps cores on the first NUMA node (the first ones) and on the last (the last ones), and nodes that no VM
// uses;
// - whole cores, never one thread of two; vCPUs are pinned one to one;
// - memory comes from the same nodes in equal parts, in huge pages;
// - a GPU brings the other functions of its slot (audio, USB); of a NIC only the named function is passed through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gear/vm/host.h"

namespace weft::gear {

enum class EmulatorCpus : std::uint8_t { kVm, kHost };

struct VmRequest {
  std::string name;
  std::vector<std::string> devices;  // as find_device takes them
};

struct VmPlanOptions {
  std::vector<VmRequest> vms;
  std::int64_t memory_B = std::int64_t{32} << 30;  // of each VM
  std::int64_t page_B = std::int64_t{1} << 30;
  std::uint32_t host_cores = 2;  // on the first and on the last NUMA node
  EmulatorCpus emulator = EmulatorCpus::kVm;
  bool guest_smt = false;  // sibling threads are neighbours, and the guest sees them as threads of a core
};

// "vm00=gpu0,nic0"
Planned<VmRequest> parse_vm_request(std::string_view text);

struct VmDevice {
  const HostDevice* device = nullptr;
  std::string label;  // "GPU 0"; empty for a further function of a slot
};

// Share of a VM in one NUMA node.
struct VmCell {
  std::uint32_t node = 0;
  std::vector<HostCore> cores;
  CpuList cpus;  // in the order of vCPUs
  std::int64_t memory_B = 0;
  std::vector<std::string> labels;  // of the devices on it
};

struct Vm {
  std::string name;
  std::vector<VmDevice> devices;  // by address
  std::vector<VmCell> cells;      // by node

  CpuList vcpus() const;  // vCPU n is pinned to the n-th
  std::size_t cores() const;
};

// A line of the CPU table: cores of one node that go to the host or to one VM.
struct CpuShare {
  std::uint32_t node = 0;
  std::string owner;  // "Host" or "vm00 GPU 0"
  CpuList cpus;
  std::size_t cores = 0;
};

// Devices of VMs are those of `host`, so a plan can be moved and not copied.
struct VmPlan {
  VmPlan() = default;
  VmPlan(VmPlan&&) = default;
  VmPlan& operator=(VmPlan&&) = default;

  HostDescription host;
  VmPlanOptions options;
  std::vector<Vm> vms;
  std::vector<CpuShare> shares;  // by node and CPU
  CpuList host_cpus, isolated;
  std::vector<std::int64_t> pages_of_node;  // huge pages wanted, one for each node of the host
  std::vector<std::string> notes;           // what the plan cannot mend
  std::vector<const HostDevice*> bound;     // to vfio-pci: those of the VMs, and who shares an IOMMU group with them

  std::int64_t pages() const;
};

Planned<VmPlan> plan_vms(HostDescription host, const VmPlanOptions& options);

// Outputs of the plan.
std::string kernel_arguments(const VmPlan& plan);
std::string vm_plan_text(const VmPlan& plan);
std::string vm_plan_json(const VmPlan& plan);
std::string domain_xml(const VmPlan& plan, const Vm& vm);
std::string virt_install_command(const VmPlan& plan, const Vm& vm);

struct PlannedFile {
  std::string name, text;
  bool executable = false;
};
std::vector<PlannedFile> vm_plan_files(const VmPlan& plan);

}  // namespace weft::gear
