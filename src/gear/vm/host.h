// A real machine as a plan for virtual machines needs it: NUMA nodes with their cores and memory, PCI devices with
// their place. Read from what the machine says of itself (host_read.cc): `lspci -vmmnn` with `lscpu`, `lstopo --of
// xml`, a tree of /sys, or a bundle of `weft inspect`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gear/bundle/text.h"
#include "gear/plan/error.h"
#include "gear/vm/cpus.h"

namespace weft::gear {

struct PciAddress {
  std::uint32_t domain = 0, bus = 0, slot = 0, function = 0;

  // "06:00.0" or "0000:06:00.0".
  static std::optional<PciAddress> parse(std::string_view text);
  std::string text() const;        // "0000:06:00.0"
  std::string short_text() const;  // "06:00.0" in domain 0
  bool same_slot(const PciAddress& other) const {
    return domain == other.domain && bus == other.bus && slot == other.slot;
  }
  auto operator<=>(const PciAddress&) const = default;
};

enum class DeviceRole : std::uint8_t { kGpu, kNic, kOther };

struct HostDevice {
  PciAddress address;
  std::uint32_t class_code = 0;  // 0x0300: base class and subclass
  std::uint32_t vendor = 0, device = 0;
  std::string name;       // "GA102 [GeForce RTX 3090]"
  std::string interface;  // "enp65s0f0np0", where known
  std::string driver;     // where known
  int numa_node = -1;     // -1: not known
  std::optional<std::uint32_t> iommu_group;

  DeviceRole role() const;
  bool is_rdma_nic() const;  // of a vendor whose NICs have RDMA
};

struct HostCore {
  CpuList threads;
};

struct HostNode {
  std::uint32_t id = 0;
  std::vector<HostCore> cores;
  std::int64_t memory_B = 0;  // 0: not known
};

struct HostDescription {
  std::string cpu;         // "AMD EPYC 7551P 32-Core Processor", where known
  std::string cpu_vendor;  // "AuthenticAMD", where known
  std::string architecture = "x86_64";
  std::vector<HostNode> nodes;      // by id
  std::vector<HostDevice> devices;  // by address
};

// Sorts, and checks that there are nodes with CPUs and that devices are on them. `where` names the description.
Planned<HostDescription> checked_host(HostDescription host, const std::string& where);
// The threads of a core stand at the same place of each range: "0-7,32-39" with two threads.
std::optional<std::vector<HostCore>> cores_of(const CpuList& cpus, std::uint32_t threads_per_core);

// Readers of one form each. `where` is the file's name for messages.
Planned<HostDescription> read_host_text(std::string_view text, const std::string& where);
Planned<HostDescription> read_host_sections(const Bundle& bundle);  // lspci -vmmnn and lscpu as sections of a bundle
Planned<HostDescription> read_host_lstopo(std::string_view text, const std::string& where);
Planned<HostDescription> describe_bundle(std::string_view text, const std::string& where);
Planned<HostDescription> read_host_tree(const std::string& directory);  // has bus/pci/devices and devices/system
// A file or a directory, whichever of the forms it has.
Planned<HostDescription> read_host(const std::string& path);

// "gpu0", "nic1", "lan0" (a NIC without RDMA), a PCI address or the name of an interface.
Planned<const HostDevice*> find_device(const HostDescription& host, std::string_view name);
// "GPU 0", "NIC 1": as find_device counts; the PCI address for anything else.
std::string device_label(const HostDescription& host, const HostDevice& device);

}  // namespace weft::gear
