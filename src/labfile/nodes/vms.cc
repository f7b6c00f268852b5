// Virtual machines: which CPUs, memory, GPUs and NICs of their host they have, and whether it has all of that.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/figures.h"
#include "base/nearest.h"
#include "labfile/lab_fields.h"
#include "labfile/sections.h"

namespace weft::lab {
namespace {

constexpr Range<std::int64_t> kVmMemory{1 << 20, std::int64_t{1} << 46};
constexpr Range<std::int64_t> kTxRates{1'000'000, 800'000'000'000};  // max_tx_rate is in whole Mb/s

std::string name_of(const HostConfig& host, std::size_t nic) {
  const std::optional<std::uint32_t>& slot = host.nics[nic].slot;
  return slot && host.model.layout != nullptr ? host.model.layout->slots[*slot].name : fmt::format("nic{}", nic);
}

std::int64_t memory_of(const HostConfig& host, const std::vector<std::uint32_t>& nodes) {
  if (host.model.layout == nullptr) return INT64_MAX;  // reported
  std::int64_t sum_B = 0;
  for (std::uint32_t i = 0; i < host.model.layout->nodes.size(); ++i) {
    if (nodes.empty() || std::ranges::find(nodes, i) != nodes.end()) sum_B += host.model.layout->nodes[i].memory_B;
  }
  return sum_B;
}

void read_gpus(const YamlNode& node, const HostConfig& host, HostConfig& vm, LabContext& context) {
  const auto* list = read_list(node, "gpus", context.problems);
  if (list == nullptr) return;
  for (const YamlNode& item : *list) {
    const auto number = read_unsigned(item, "gpus", {0, 1023}, context.problems);
    if (!number) continue;
    if (auto problem = gpu_problem(host, *number)) {
      context.problems.add(item.place, problem->message, problem->remedy);
      continue;
    }
    vm.places.gpus.push_back(host.places.gpus[*number]);
    vm.places.passed_gpus.push_back(static_cast<std::uint32_t>(*number));
  }
}

void read_numatune(const YamlNode& node, const HostConfig& host, HostConfig& vm, ProblemList& problems) {
  const auto* list = read_list(node, "numatune", problems);
  if (list == nullptr || host.model.layout == nullptr) return;
  for (const YamlNode& item : *list) {
    const auto number = read_unsigned(item, "numatune", {0, 1023}, problems);
    if (!number) continue;
    if (*number >= host.model.layout->nodes.size()) {
      problems.add(item.place, fmt::format("{} has no NUMA node {}", host.name, *number),
                   fmt::format("it has nodes 0 to {}", host.model.layout->nodes.size() - 1));
      continue;
    }
    vm.vm->numatune.push_back(static_cast<std::uint32_t>(*number));
  }
}

void read_memory(const MapReader& map, const HostConfig& host, HostConfig& vm, ProblemList& problems) {
  if (const YamlNode* node = map.get("numatune")) read_numatune(*node, host, vm, problems);
  map.read(kVmKeys, "pages", vm);
  vm.places.placement.page_B = vm.places.page_B;
  const YamlNode* memory = map.get("memory");
  const auto size_B =
      memory == nullptr ? std::nullopt : read_quantity(*memory, "memory", Quantity::kSize, kVmMemory, problems);
  if (!size_B) return;
  vm.vm->memory_B = *size_B;
  if (const std::int64_t there_B = memory_of(host, vm.vm->numatune); there_B < *size_B) {
    problems.add(memory->place,
                 fmt::format("{} of memory: {} of {} have {}", memory_text(*size_B),
                             vm.vm->numatune.empty() ? "all NUMA nodes"
                                                     : fmt::format("NUMA nodes {}", fmt::join(vm.vm->numatune, ", ")),
                             host.name, memory_text(there_B)),
                 "give it less, or more nodes in numatune");
  }
}

// `irq` of a virtual machine counts its vCPUs, as its own /proc/irq does.
void read_irq(const YamlNode& node, HostConfig& vm, ProblemList& problems) {
  host::HostModel numbered;
  numbered.name = vm.name;
  numbered.cpus = static_cast<std::uint32_t>(vm.cpu.own.size());
  const auto list = read_cpu_list(node, "irq", numbered, problems);
  if (!list) return;
  for (std::uint32_t vcpu : *list) vm.cpu.irq.push_back(vm.cpu.own[vcpu]);
}

}  // namespace

bool read_vm(const MapReader& map, HostConfig& vm, LabContext& context) {
  ProblemList& problems = context.problems;
  const YamlNode* name = map.require("vm_of");
  const YamlNode* vcpus = map.require("vcpus");
  const NodeState* state =
      name == nullptr || !read_text(*name, "vm_of", problems) ? nullptr : find_host(name->text, name->place, context);
  if (state == nullptr) return false;
  const HostConfig& host = context.lab.hosts[state->index];
  if (&host == &vm || host.vm || host.outside) {
    problems.add(name->place, fmt::format("{} is no host that runs virtual machines", name->text),
                 "name a node of kind: host");
    return false;
  }
  if (host.model.layout == nullptr) return false;  // reported
  vm.model = host.model;
  vm.model.virtual_machine = true;
  vm.places.iommu = host::Iommu::kOn;  // without it a device could not write to a guest's memory
  vm.places.gpudirect = host.places.gpudirect;
  vm.places.acs = host.places.acs;
  vm.places.gpu_fabric = host.places.gpu_fabric;
  vm.places.placement.iommu = host::Iommu::kOn;
  vm.vm = VmConfig{state->index, 0, {}, {}};
  if (vcpus != nullptr) {
    if (auto list = read_cpu_list(*vcpus, "vcpus", host.model, problems)) vm.cpu.own = *std::move(list);
    context.vm_places.emplace(vm.name, vcpus->place);
    if (vm.cpu.own.empty() && vcpus->is_scalar() && vcpus->text.empty())
      problems.add(vcpus->place, "vcpus names no CPU", "write e.g. \"2-7,34-39\"");
  }
  if (vm.cpu.own.empty()) return false;
  if (const YamlNode* node = map.get("emulator")) {
    if (auto list = read_cpu_list(*node, "emulator", host.model, problems)) vm.vm->emulator = *std::move(list);
  }
  if (const YamlNode* node = map.get("share_cpus")) {
    const auto share = read_bool(*node, "share_cpus", problems);
    if (share.value_or(false)) context.vm_places.erase(vm.name);
  }
  if (const YamlNode* node = map.get("irq")) read_irq(*node, vm, problems);
  read_memory(map, host, vm, problems);
  if (const YamlNode* node = map.get("gpus")) read_gpus(*node, host, vm, context);
  map.read(kVmKeys, "gpudirect", vm);
  if (const YamlNode* node = map.get("numactl")) read_numactl(*node, vm, vm.places.placement, problems);
  return true;
}

bool read_vm_nic(const MapReader& map, HostConfig& vm, NicConfig& nic, LabContext& context) {
  ProblemList& problems = context.problems;
  const HostConfig& host = context.lab.hosts[vm.vm->host];
  const YamlNode* of = map.require("of");
  const YamlNode* kind = map.get("function");
  const auto function =
      kind == nullptr ? Function::kVf : read_choice<Function>(*kind, "function", std::span(kFunctionWords), problems);
  if (of == nullptr || !function || !read_text(*of, "of", problems)) return false;
  std::vector<std::string> names;
  std::optional<std::uint32_t> card, port;
  for (std::uint32_t n = 0; n < host.nics.size(); ++n) {
    names.push_back(name_of(host, n));
    if (names.back() == of->text || fmt::format("nic{}", n) == of->text) card = n;
    for (std::uint32_t p = 0; p < host.nics[n].ports.size(); ++p) {
      names.push_back(host.nics[n].ports[p].name);
      if (names.back() == of->text) card = n, port = p;
    }
  }
  if (!card) {
    problems.add(of->place, fmt::format("{} has no NIC {}", host.name, in_quotes(of->text)),
                 names.empty() ? "add one to its nics"
                               : did_you_mean(of->text, std::vector<std::string_view>(names.begin(), names.end()),
                                              "NICs and ports"));
    return false;
  }
  nic.model = host.nics[*card].model;
  nic.slot = host.nics[*card].slot;
  nic.function = NicFunction{*card, {}, 0, 0};
  const std::size_t ports = host.nics[*card].ports.size();
  if (*function == Function::kPf) {
    const auto taken = [&](const HostConfig& other) {
      return &other != &vm && other.vm && other.vm->host == vm.vm->host &&
             std::ranges::any_of(other.nics, [&](const NicConfig& each) {
               return each.function && !each.function->is_vf() && each.function->nic == *card;
             });
    };
    const auto owner = std::ranges::find_if(context.lab.hosts, taken);
    if (ports > 0 || owner != context.lab.hosts.end()) {
      problems.add(
          of->place,
          fmt::format("{} of {} is used by {}", of->text, host.name, ports > 0 ? "the host itself" : owner->name),
          ports > 0 ? "leave its ports out at the host, or write function: vf" : "pass another NIC");
      return false;
    }
    if (const YamlNode* rate = map.get("max_tx_rate"))
      problems.add(rate->place, "max_tx_rate limits a virtual function", "write function: vf, or leave it out");
    return true;
  }
  if (ports == 0 || (ports > 1 && !port)) {
    problems.add(of->place,
                 ports == 0 ? fmt::format("{} of {} has no ports", of->text, host.name)
                            : fmt::format("{} of {} has {} ports", of->text, host.name, ports),
                 ports == 0 ? "a virtual function needs the host's own: add ports to that NIC, or write function: pf"
                            : "name one of them");
    return false;
  }
  const YamlNode* written = map.get("ports");
  if (written != nullptr && written->is_map() && written->keys.size() > 1) {
    problems.add(written->place, "a virtual function has one port", "add another function for another port");
    return false;
  }
  nic.function->carrier = PortRef{vm.vm->host, *card, port.value_or(0)};
  std::uint32_t& number = nic.function->number;
  number = 1;
  for (const HostConfig& other : context.lab.hosts) {
    for (const NicConfig& each : other.nics) {
      if (&each == &nic || !each.function || !each.function->is_vf() || other.vm->host != vm.vm->host) continue;
      if (each.function->nic == *card) number = std::max(number, each.function->number + 1);
    }
  }
  if (const YamlNode* rate = map.get("max_tx_rate"))
    store(nic.function->max_tx_rate_bps, read_quantity(*rate, "max_tx_rate", Quantity::kBitRate, kTxRates, problems));
  return true;
}

void read_huge_pages(const YamlNode& node, HostConfig& host, ProblemList& problems) {
  const MapReader map(node, "hugepages", kHugePageKeys, problems);
  if (!map.ok()) return;
  std::int64_t sum_B = 0;
  for (const FieldInfo& size : kHugePageKeys.fields) {
    const YamlNode* count = map.get(size.key);
    const auto pages = count == nullptr ? std::nullopt : read_value(*count, size, problems);
    if (!pages) continue;
    host.huge_pages.push_back(
        {size.key == "2M" ? std::int64_t{2} << 20 : std::int64_t{1} << 30, static_cast<std::uint64_t>(*pages)});
    sum_B += host.huge_pages.back().page_B * static_cast<std::int64_t>(*pages);
  }
  if (const std::int64_t there_B = memory_of(host, {}); sum_B > there_B)
    problems.add(node.place,
                 fmt::format("{} in huge pages: {} has {}", memory_text(sum_B), host.name, memory_text(there_B)),
                 "reserve fewer, or give it more memory in layout");
}

void check_vms(LabContext& context) {
  if (!context.problems.empty()) return;  // what is missing may be in what was reported
  Lab& lab = context.lab;
  struct Taken {
    std::map<std::uint32_t, const HostConfig*> cpus;
    std::map<std::int64_t, std::int64_t> pages_B;  // by size of page
    std::int64_t memory_B = 0;
  };
  std::map<std::uint32_t, Taken> of_host;
  for (const HostConfig& vm : lab.hosts) {
    if (!vm.vm) continue;
    const HostConfig& host = lab.hosts[vm.vm->host];
    const Place& place = context.nodes.find(vm.name)->second.place;
    Taken& taken = of_host[vm.vm->host];
    taken.memory_B += vm.vm->memory_B;
    taken.pages_B[vm.places.page_B] += vm.vm->memory_B;
    if (taken.memory_B > memory_of(host, {}) && vm.vm->memory_B <= memory_of(host, {}))
      context.problems.add(place,
                           fmt::format("virtual machines of {} have {} of memory up to here, and it has {}", host.name,
                                       memory_text(taken.memory_B), memory_text(memory_of(host, {}))),
                           "give them less");
    const auto reserved =
        std::ranges::find_if(host.huge_pages, [&](const HugePages& pages) { return pages.page_B == vm.places.page_B; });
    const std::int64_t there_B =
        reserved == host.huge_pages.end() ? 0 : reserved->page_B * static_cast<std::int64_t>(reserved->count);
    if (vm.places.page_B > 4096 && vm.vm->memory_B > 0 && taken.pages_B[vm.places.page_B] > there_B)
      context.problems.add(place,
                           fmt::format("huge pages for {} up to here, and {} has reserved {} of that size",
                                       memory_text(taken.pages_B[vm.places.page_B]), host.name, memory_text(there_B)),
                           fmt::format("add hugepages to {}, or take fewer", host.name));
    const HostConfig* other = nullptr;
    std::uint32_t shared = 0;
    for (std::uint32_t cpu : vm.cpu.own) {
      std::vector<std::uint32_t> core{cpu};
      if (const auto node = host.model.layout ? host.model.layout->node_of_cpu(cpu) : std::nullopt) {
        for (std::uint32_t sibling : host.model.layout->nodes[*node].siblings(cpu)) core.push_back(sibling);
      }
      for (std::uint32_t each : core) {
        const auto found = taken.cpus.find(each);
        if (found == taken.cpus.end() || found->second == &vm || other != nullptr) continue;
        other = found->second;
        shared = cpu;
      }
      taken.cpus.emplace(cpu, &vm);
    }
    const auto where = context.vm_places.find(vm.name);
    if (other != nullptr && where != context.vm_places.end())
      context.warnings.add(where->second, fmt::format("CPU {} is on a core of {} too", shared, other->name),
                           "pin them to different cores, or say share_cpus: true");
  }
  for (const auto& [name, node] : context.nodes) {
    if (node.is_switch || lab.hosts[node.index].vm) continue;
    const auto number = node.index;
    const HostConfig& host = lab.hosts[number];
    for (std::uint32_t n = 0; n < host.nics.size(); ++n) {
      const auto is_it = [&](const NicConfig& nic) { return nic.function && nic.function->nic == n; };
      const auto has_it = [&](const HostConfig& vm) {
        return vm.vm && vm.vm->host == number && std::ranges::any_of(vm.nics, is_it);
      };
      if (host.nics[n].ports.empty() && node.complete && std::ranges::none_of(lab.hosts, has_it))
        context.problems.add(node.place, fmt::format("{} of {} has no ports", name_of(host, n), name),
                             "write ports: {p0: {address: 10.0.0.1/24}}, or pass it to a virtual machine");
    }
  }
}

void settle_vfs(LabContext& context) {
  for (auto& [name, node] : context.nodes) {
    for (auto& [port_name_text, port] : node.ports) {
      if (!is_vf(context.lab, port.ref)) continue;
      const PortRef carrier = carrier_of(context.lab, port.ref);
      const PortConfig &own = context.port(port.ref), &shared = context.port(carrier);
      NodeState& host = context.nodes.find(context.lab.hosts[carrier.host].name)->second;
      const PortState& its = host.ports.find(shared.name)->second;
      port.link = its.link;
      port.link_place = its.link_place;
      if (!its.usable || !port.usable) continue;
      if (shared.bond)
        context.problems.add(port.place, fmt::format("{} is of a bond", port_name(context.lab, carrier)),
                             "virtual functions of a bond are not modelled: take another NIC");
      if (own.netdev_mtu_B > shared.netdev_mtu_B)
        context.problems.add(port.place,
                             fmt::format("mtu {} B, and {} has {} B", own.netdev_mtu_B, port_name(context.lab, carrier),
                                         shared.netdev_mtu_B),
                             "a virtual function cannot have more than its port");
      if (!its.link && context.links_complete)
        context.problems.add(port.place, fmt::format("{} has no cable", port_name(context.lab, carrier)),
                             "join it to its peer in links");
      for (const auto& [other_name, other] : context.nodes) {
        for (const auto& [other_port, each] : other.ports) {
          if (&each == &port || carrier_of(context.lab, each.ref) != carrier) continue;
          if (context.port(each.ref).address == own.address && each.ref != carrier && port.place.line < each.place.line)
            continue;  // said there
          if (context.port(each.ref).address == own.address)
            context.problems.add(
                port.place,
                fmt::format("{} has the address {} too", port_name(context.lab, each.ref), to_string(own.address)),
                "give each port an address of its own");
        }
      }
    }
  }
}

}  // namespace weft::lab
