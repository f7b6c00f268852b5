// The tables of a plan: device locality, CPU assignment, kernel arguments, as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/figures.h"
#include "base/plural.h"
#include "gear/vm/plan.h"

namespace weft::gear {
namespace {

using VmJson = nlohmann::ordered_json;

std::string page_word(std::int64_t page_B) {
  return page_B == (std::int64_t{1} << 30) ? "1G" : "2M";
}

// Boot-time pages are spread evenly over the nodes, unless the argument says how many on each (since Linux 5.16).
std::string page_argument(const VmPlan& plan) {
  const auto& wanted = plan.pages_of_node;
  if (std::all_of(wanted.begin(), wanted.end(), [&](std::int64_t pages) { return pages == wanted.front(); }))
    return fmt::format("hugepages={}", plan.pages());
  std::string list;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] > 0) list += fmt::format("{}{}:{}", list.empty() ? "" : ",", plan.host.nodes[i].id, wanted[i]);
  }
  return "hugepages=" + list;
}

std::string device_name(const HostDevice& device) {
  const std::size_t open = device.name.rfind('['), close = device.name.rfind(']');
  if (open != device.name.npos && close != device.name.npos && close > open)
    return device.name.substr(open + 1, close - open - 1);
  return device.name;
}

std::string locality_table(const VmPlan& plan) {
  std::string out = "| Device | PCI address | NUMA node | Assigned to |\n|---|---|---|---|\n";
  for (const HostDevice& device : plan.host.devices) {
    const std::string label = device_label(plan.host, device);
    std::string owner = "host";
    for (const Vm& vm : plan.vms) {
      for (const VmDevice& own : vm.devices) {
        if (own.device == &device && !own.label.empty()) owner = vm.name;
      }
    }
    if (owner == "host" && label == device.address.short_text()) continue;  // no card of its own
    const std::string interface = device.interface.empty() ? "" : fmt::format(" ({})", device.interface);
    out += fmt::format("| {} ({}) | {}{} | {} | {} |\n", label, device_name(device), device.address.short_text(),
                       interface, device.numa_node < 0 ? "not known" : std::to_string(device.numa_node), owner);
  }
  return out;
}

std::string cpu_table(const VmPlan& plan) {
  std::string out = "| NUMA node | CPUs | Assignment |\n|---|---|---|\n";
  std::int64_t before = -1;
  for (const CpuShare& share : plan.shares) {
    const std::string node = before == share.node ? "" : fmt::format("Node {}", share.node);
    before = share.node;
    out +=
        fmt::format("| {} | {} | {} ({}) |\n", node, cpus_text(share.cpus), share.owner, counted(share.cores, "core"));
  }
  return out;
}

}  // namespace

std::string kernel_arguments(const VmPlan& plan) {
  const std::string isolated = cpus_text(plan.isolated);
  const std::string page = page_word(plan.options.page_B);
  // AMD's IOMMU is on where the firmware has it; Intel's waits to be asked.
  const std::string iommu = plan.host.cpu_vendor == "GenuineIntel" ? "intel_iommu=on iommu=pt" : "iommu=pt";
  return fmt::format("{} isolcpus={} nohz_full={} rcu_nocbs={} default_hugepagesz={} hugepagesz={} {}", iommu, isolated,
                     isolated, isolated, page, page, page_argument(plan));
}

std::string vm_plan_text(const VmPlan& plan) {
  std::string out = "# Virtual machines with passed-through devices\n\n";
  if (!plan.host.cpu.empty()) out += plan.host.cpu + "\n\n";
  out += "## Device locality\n\n" + locality_table(plan);
  out += "\n## CPUs\n\n" + cpu_table(plan) + "\n";
  for (const Vm& vm : plan.vms) {
    out += fmt::format("{}: {} / {}, {} in {} pages\n", vm.name, counted(vm.cores(), "core"),
                       counted(vm.vcpus().size(), "thread"), memory_text(plan.options.memory_B),
                       page_word(plan.options.page_B));
    for (const VmCell& cell : vm.cells) {
      out += fmt::format("  node {}: vCPUs on {}, {}\n", cell.node, cpus_text(cell.cpus), memory_text(cell.memory_B));
    }
  }
  out += fmt::format("host: CPUs {}\n", cpus_text(plan.host_cpus));
  out += "\n## Kernel arguments\n\n" + kernel_arguments(plan) + "\n";
  for (const Vm& vm : plan.vms) out += fmt::format("\n## {}\n\n{}", vm.name, virt_install_command(plan, vm));
  if (!plan.notes.empty()) out += "\n## Notes\n\n";
  for (const std::string& note : plan.notes) out += "- " + note + "\n";
  return out;
}

std::string vm_plan_json(const VmPlan& plan) {
  VmJson j;
  j["cpu"] = plan.host.cpu;
  j["devices"] = VmJson::array();
  for (const HostDevice& device : plan.host.devices) {
    VmJson row = {{"address", device.address.text()},
                  {"label", device_label(plan.host, device)},
                  {"name", device.name},
                  {"interface", device.interface},
                  {"numa_node", device.numa_node}};
    for (const Vm& vm : plan.vms) {
      for (const VmDevice& own : vm.devices) {
        if (own.device == &device) row["vm"] = vm.name;
      }
    }
    j["devices"].push_back(std::move(row));
  }
  j["shares"] = VmJson::array();
  for (const CpuShare& share : plan.shares)
    j["shares"].push_back(
        {{"node", share.node}, {"cpus", cpus_text(share.cpus)}, {"owner", share.owner}, {"cores", share.cores}});
  j["host_cpus"] = cpus_text(plan.host_cpus);
  j["isolated"] = cpus_text(plan.isolated);
  j["kernel_arguments"] = kernel_arguments(plan);
  j["hugepages"] = {{"size", page_word(plan.options.page_B)}, {"count", plan.pages()}};
  j["vms"] = VmJson::array();
  for (const Vm& vm : plan.vms) {
    VmJson row = {{"name", vm.name}, {"cores", vm.cores()}, {"vcpus", vm.vcpus()}, {"memory_B", plan.options.memory_B}};
    row["cells"] = VmJson::array();
    for (const VmCell& cell : vm.cells)
      row["cells"].push_back({{"node", cell.node}, {"cpus", cell.cpus}, {"memory_B", cell.memory_B}});
    row["devices"] = VmJson::array();
    for (const VmDevice& device : vm.devices) row["devices"].push_back(device.device->address.text());
    row["domain_xml"] = domain_xml(plan, vm);
    j["vms"].push_back(std::move(row));
  }
  j["notes"] = plan.notes;
  return j.dump(2, ' ', false, VmJson::error_handler_t::replace) + "\n";  // names may be any bytes
}

}  // namespace weft::gear
