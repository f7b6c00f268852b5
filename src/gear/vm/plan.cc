#include "gear/vm/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace weft::gear {
namespace {

bool is_vm_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !name.empty() && name.size() <= 50 && name.front() != '-' && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), good);
}

std::string joined_labels(const std::vector<std::string>& labels) {
  std::string out;
  for (const std::string& label : labels) out += (out.empty() ? "" : ", ") + label;
  return out;
}

class VmPlanner {
 public:
  VmPlanner(HostDescription host, const VmPlanOptions& options) {
    plan_.host = std::move(host);
    plan_.options = options;
  }

  Planned<VmPlan> run() {
    if (plan_.options.vms.empty()) return plan_error("no virtual machine", "add --vm vm00=gpu0,nic0");
    if (plan_.options.host_cores == 0) return plan_error("the host needs a core", "take --host-cores 1 or more");
    for (const VmRequest& request : plan_.options.vms) {
      if (auto done = take_devices(request); !done) return tl::unexpected(done.error());
    }
    if (auto done = share_cores(); !done) return tl::unexpected(done.error());
    if (auto done = share_memory(); !done) return tl::unexpected(done.error());
    find_bound_devices();
    add_notes();
    return std::move(plan_);
  }

 private:
  Planned<void> take_devices(const VmRequest& request) {
    Vm vm;
    vm.name = request.name;
    for (const Vm& other : plan_.vms) {
      if (other.name == vm.name) return plan_error(fmt::format("two virtual machines are called {}", vm.name));
    }
    for (const std::string& name : request.devices) {
      const auto found = find_device(plan_.host, name);
      if (!found) return tl::unexpected(PlanError{vm.name + ": " + found.error().message, found.error().remedy});
      const HostDevice& device = **found;
      if (device.numa_node < 0)
        return plan_error(fmt::format("{}: the NUMA node of {} is not known", vm.name, device.address.text()),
                          "the firmware does not say: add NUMANode: N to its record of lspci -vmmnn");
      if (auto done = take(vm, device, device_label(plan_.host, device)); !done) return done;
      if (device.role() != DeviceRole::kGpu) continue;
      for (const HostDevice& other : plan_.host.devices) {
        if (other.address.same_slot(device.address) && other.address != device.address) {
          if (auto done = take(vm, other, ""); !done) return done;
        }
      }
    }
    if (vm.devices.empty()) return plan_error(fmt::format("{} has no devices", vm.name), "write vm00=gpu0,nic0");
    std::sort(vm.devices.begin(), vm.devices.end(),
              [](const VmDevice& a, const VmDevice& b) { return a.device->address < b.device->address; });
    std::map<std::uint32_t, std::vector<std::string>> labels;
    for (const VmDevice& device : vm.devices) {
      if (!device.label.empty()) labels[static_cast<std::uint32_t>(device.device->numa_node)].push_back(device.label);
    }
    for (const auto& [node, on_node] : labels) {
      VmCell cell;
      cell.node = node;
      cell.labels = on_node;
      vm.cells.push_back(std::move(cell));
    }
    plan_.vms.push_back(std::move(vm));
    return {};
  }

  Planned<void> take(Vm& vm, const HostDevice& device, std::string label) {
    if (!taken_.insert(device.address).second)
      return plan_error(fmt::format("{}: {} is already in a virtual machine", vm.name, device.address.text()),
                        "a device goes to one virtual machine; virtual functions have addresses of their own");
    vm.devices.push_back({&device, std::move(label)});
    return {};
  }

  Planned<void> share_cores() {
    const auto& nodes = plan_.host.nodes;
    std::size_t first_node = nodes.size(), last_node = 0;  // nodes of memory alone do not count
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].cores.empty()) continue;
      first_node = std::min(first_node, i);
      last_node = i;
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      std::vector<std::pair<Vm*, VmCell*>> users;
      for (Vm& vm : plan_.vms) {
        for (VmCell& cell : vm.cells) {
          if (cell.node == nodes[i].id) users.emplace_back(&vm, &cell);
        }
      }
      const std::vector<HostCore>& cores = nodes[i].cores;
      if (users.empty()) {
        add_share(nodes[i].id, "Host", cores, 0, cores.size());
        continue;
      }
      const std::size_t first = i == first_node ? plan_.options.host_cores : 0;
      const std::size_t last = i == last_node && i != first_node ? plan_.options.host_cores : 0;
      if (cores.size() < first + last + users.size())
        return plan_error(fmt::format("NUMA node {} has {} cores: the host keeps {}, and {} want one at least",
                                      nodes[i].id, cores.size(), first + last, users.size()),
                          "put fewer virtual machines on it, or take less with --host-cores");
      const std::size_t free = cores.size() - first - last;
      add_share(nodes[i].id, "Host", cores, 0, first);
      std::size_t at = first;
      for (std::size_t u = 0; u < users.size(); ++u) {
        const std::size_t count = free / users.size() + (u < free % users.size() ? 1 : 0);
        VmCell& cell = *users[u].second;
        cell.cores.assign(cores.begin() + static_cast<std::ptrdiff_t>(at),
                          cores.begin() + static_cast<std::ptrdiff_t>(at + count));
        order_vcpus(cell);
        add_share(nodes[i].id, users[u].first->name + " " + joined_labels(cell.labels), cores, at, count);
        at += count;
      }
      add_share(nodes[i].id, "Host", cores, at, last);
    }
    std::sort(plan_.host_cpus.begin(), plan_.host_cpus.end());
    std::sort(plan_.isolated.begin(), plan_.isolated.end());
    return {};
  }

  // First threads of all cores, then second ones, as Linux numbers them; or core by core.
  void order_vcpus(VmCell& cell) const {
    std::size_t threads = 0;
    for (const HostCore& core : cell.cores) threads = std::max(threads, core.threads.size());
    if (plan_.options.guest_smt) {
      for (const HostCore& core : cell.cores)
        cell.cpus.insert(cell.cpus.end(), core.threads.begin(), core.threads.end());
      return;
    }
    for (std::size_t t = 0; t < threads; ++t) {
      for (const HostCore& core : cell.cores) {
        if (t < core.threads.size()) cell.cpus.push_back(core.threads[t]);
      }
    }
  }

  void add_share(std::uint32_t node, const std::string& owner, const std::vector<HostCore>& cores, std::size_t first,
                 std::size_t count) {
    if (count == 0) return;
    CpuShare share;
    share.node = node;
    share.owner = owner;
    share.cores = count;
    for (std::size_t i = first; i < first + count; ++i)
      share.cpus.insert(share.cpus.end(), cores[i].threads.begin(), cores[i].threads.end());
    CpuList& all = owner == "Host" ? plan_.host_cpus : plan_.isolated;
    all.insert(all.end(), share.cpus.begin(), share.cpus.end());
    plan_.shares.push_back(std::move(share));
  }

  Planned<void> share_memory() {
    const VmPlanOptions& options = plan_.options;
    if (options.page_B <= 0 || options.memory_B <= 0 || options.memory_B % options.page_B != 0)
      return plan_error("the memory of a virtual machine is no whole number of pages");
    const std::int64_t pages = options.memory_B / options.page_B;
    plan_.pages_of_node.assign(plan_.host.nodes.size(), 0);
    for (Vm& vm : plan_.vms) {
      const auto cells = static_cast<std::int64_t>(vm.cells.size());
      if (pages < cells)
        return plan_error(fmt::format("{} has devices on {} NUMA nodes and {} pages", vm.name, cells, pages),
                          "give it more memory, or take --pages 2M");
      for (std::int64_t i = 0; i < cells; ++i) {
        const std::int64_t own = pages / cells + (i < pages % cells ? 1 : 0);
        VmCell& cell = vm.cells[static_cast<std::size_t>(i)];
        cell.memory_B = own * options.page_B;
        for (std::size_t n = 0; n < plan_.host.nodes.size(); ++n) {
          if (plan_.host.nodes[n].id == cell.node) plan_.pages_of_node[n] += own;
        }
      }
    }
    for (std::size_t n = 0; n < plan_.host.nodes.size(); ++n) {
      const HostNode& node = plan_.host.nodes[n];
      if (node.memory_B > 0 && plan_.pages_of_node[n] * options.page_B >= node.memory_B)
        return plan_error(fmt::format("NUMA node {} has {:.1f} GiB, and the virtual machines want {:.1f}", node.id,
                                      static_cast<double>(node.memory_B) / (1 << 30),
                                      static_cast<double>(plan_.pages_of_node[n] * options.page_B) / (1 << 30)),
                          "give them less with --memory");
    }
    return {};
  }

  // VFIO takes a group when all of its devices are bound to it (or have no driver); bridges do not count.
  void find_bound_devices() {
    std::set<std::uint32_t> groups;
    for (const Vm& vm : plan_.vms) {
      for (const VmDevice& device : vm.devices) {
        if (device.device->iommu_group) groups.insert(*device.device->iommu_group);
      }
    }
    for (const HostDevice& device : plan_.host.devices) {
      const bool is_bridge = (device.class_code >> 8) == 0x06;
      const bool in_group = device.iommu_group && groups.count(*device.iommu_group) > 0 && !is_bridge;
      if (taken_.count(device.address) > 0 || in_group) plan_.bound.push_back(&device);
      if (taken_.count(device.address) == 0 && in_group)
        plan_.notes.push_back(fmt::format(
            "{} is in IOMMU group {} with a device of a virtual machine: it leaves its driver too, and the host cannot "
            "use it",
            device.address.text(), *device.iommu_group));
    }
    std::map<std::uint32_t, std::string> owner;
    for (const Vm& vm : plan_.vms) {
      for (const VmDevice& device : vm.devices) {
        if (!device.device->iommu_group) continue;
        const auto [at, is_new] = owner.emplace(*device.device->iommu_group, vm.name);
        if (!is_new && at->second != vm.name)
          plan_.notes.push_back(fmt::format("IOMMU group {} has devices of {} and {}: they cannot run at the same time",
                                            at->first, at->second, vm.name));
      }
    }
  }

  void add_notes() {
    for (const Vm& vm : plan_.vms) {
      int gpu = -1, nic = -1;
      for (const VmDevice& device : vm.devices) {
        if (device.device->role() == DeviceRole::kGpu) gpu = device.device->numa_node;
        if (device.device->role() == DeviceRole::kNic) nic = device.device->numa_node;
      }
      if (gpu >= 0 && nic >= 0 && gpu != nic)
        plan_.notes.push_back(fmt::format(
            "{}: GPU and NIC are on NUMA nodes {} and {}, so GPUDirect would cross between them; slots of one "
            "node would not",
            vm.name, gpu, nic));
    }
    if (plan_.host.cpu_vendor.empty())
      plan_.notes.push_back(
          "the CPU's vendor is not known: on an Intel CPU add intel_iommu=on to the kernel's arguments");
    const auto has_node = [&](const Vm& vm) { return vm.cells.size() > 8; };
    if (std::any_of(plan_.vms.begin(), plan_.vms.end(), has_node))
      plan_.notes.push_back("a guest with more than 8 NUMA cells: its PCIe expander buses are left out");
  }

  VmPlan plan_;
  std::set<PciAddress> taken_;
};

}  // namespace

Planned<VmRequest> parse_vm_request(std::string_view text) {
  const std::size_t equals = text.find('=');
  VmRequest request;
  request.name = text.substr(0, equals);
  if (equals == text.npos || !is_vm_name(request.name))
    return plan_error(fmt::format("--vm {} is not NAME=DEVICE,DEVICE", text), "write --vm vm00=gpu0,nic0");
  std::string_view rest = text.substr(equals + 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = stripped(rest.substr(0, comma));
    if (name.empty()) return plan_error(fmt::format("--vm {}: an empty device", text), "write --vm vm00=gpu0,nic0");
    request.devices.emplace_back(name);
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
  }
  return request;
}

CpuList Vm::vcpus() const {
  CpuList all;
  for (const VmCell& cell : cells) all.insert(all.end(), cell.cpus.begin(), cell.cpus.end());
  return all;
}

std::size_t Vm::cores() const {
  std::size_t count = 0;
  for (const VmCell& cell : cells) count += cell.cores.size();
  return count;
}

std::int64_t VmPlan::pages() const {
  std::int64_t count = 0;
  for (std::int64_t of_node : pages_of_node) count += of_node;
  return count;
}

Planned<VmPlan> plan_vms(HostDescription host, const VmPlanOptions& options) {
  return VmPlanner(std::move(host), options).run();
}

}  // namespace weft::gear
