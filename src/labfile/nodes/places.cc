// Where the devices of a host, its programs and their memory are: layout, gpus, slots, numactl, pages, iommu, acs.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/nearest.h"
#include "catalog/host_layout.h"
#include "labfile/lab_fields.h"
#include "labfile/sections.h"
#include "labfile/workloads/workload_kind.h"
#include "spec/card_slot.h"

namespace weft::lab {
namespace {

constexpr std::string_view kGpuFabricWords[] = {"nvswitch", "mesh", "pairs", "none"};

void read_layout(const YamlNode& node, HostConfig& host, ProblemList& problems) {
  const MapReader map(node, "layout", kLayoutKeys, problems);
  if (!map.ok()) return;
  LayoutText text;
  const YamlNode* lists[3] = {};
  std::vector<std::string>* lines[] = {&text.numa, &text.links, &text.slots};
  for (std::size_t i = 0; i < std::size(lists); ++i) {
    const std::string_view key = kLayoutKeys.fields[i].key;
    lists[i] = map.get(key);
    const auto* items = lists[i] == nullptr ? nullptr : read_list(*lists[i], key, problems);
    if (lists[i] != nullptr && items == nullptr) return;
    if (items == nullptr) continue;
    for (const YamlNode& item : *items) lines[i]->push_back(item.text);
  }
  auto layout = std::make_shared<host::Layout>();
  const auto found = parse_layout(text, *layout);
  for (const LayoutProblem& problem : found) {
    const YamlNode* list = lists[static_cast<std::size_t>(problem.list)];
    const bool of_item = list != nullptr && problem.index < list->children.size();
    problems.add(of_item ? list->children[problem.index].place : node.place, problem.error.message,
                 problem.error.remedy);
  }
  // What hangs on a layout with mistakes is not looked at.
  host.model.layout = nullptr;
  if (found.empty()) host.model.use_layout(std::move(layout));
}

std::string slot_remedy(const HostConfig& host) {
  std::vector<std::string_view> names;
  const host::Layout& layout = *host.model.layout;
  for (std::uint32_t i = 0; i < layout.slots.size(); ++i) {
    if (!layout.is_switch(i)) names.push_back(layout.slots[i].name);
  }
  if (names.empty()) return fmt::format("{} has no slots: leave it out, or describe them in layout", host.model.name);
  return fmt::format("{} has {}", host.model.name, fmt::join(names, ", "));
}

// The slot that `node` names, when it is there and free.
std::optional<std::uint32_t> read_slot(const YamlNode& node, const HostConfig& host, ProblemList& problems) {
  const auto name = read_text(node, "slot", problems);
  if (!name || host.model.layout == nullptr) return std::nullopt;
  const auto slot = host.model.layout->slot(*name);
  if (!slot) {
    problems.add(node.place, fmt::format("there is no slot {}", in_quotes(*name)), slot_remedy(host));
    return std::nullopt;
  }
  if (host.model.layout->is_switch(*slot)) {
    problems.add(node.place, fmt::format("{} is a PCIe switch", *name), "name a slot below it");
    return std::nullopt;
  }
  const bool of_gpu = std::any_of(host.places.gpus.begin(), host.places.gpus.end(),
                                  [&](const host::GpuPlace& gpu) { return gpu.slot == slot; });
  const bool of_nic =
      std::any_of(host.nics.begin(), host.nics.end(), [&](const NicConfig& nic) { return nic.slot == slot; });
  if (of_gpu || of_nic) {
    problems.add(node.place, fmt::format("there is a {} in {} already", of_gpu ? "GPU" : "NIC", *name),
                 slot_remedy(host));
    return std::nullopt;
  }
  return slot;
}

void read_gpu(const YamlNode& item, HostConfig& host, LabContext& context) {
  const YamlNode* name_node = &item;
  const YamlNode* slot = nullptr;
  if (item.is_map()) {
    const MapReader map(item, "gpu", kGpuKeys, context.problems);
    name_node = map.require("model");
    slot = map.get("slot");
    if (name_node == nullptr) return;
  }
  const auto name = read_text(*name_node, "gpu", context.problems);
  if (!name) return;
  const host::GpuModel* model = context.catalog.gpu(*name);
  if (model == nullptr) {
    context.problems.add(name_node->place, fmt::format("there is no GPU {} in the catalog", in_quotes(*name)),
                         did_you_mean(*name, context.catalog.names(CatalogKind::kGpu), "GPUs"));
    return;
  }
  host::GpuPlace gpu{*model, {}};
  if (slot != nullptr) gpu.slot = read_slot(*slot, host, context.problems);
  host.places.gpus.push_back(std::move(gpu));
}

std::string node_remedy(const host::Layout& layout) {
  return layout.nodes.size() < 2 ? "the host has one NUMA node: leave it out, or write 0"
                                 : fmt::format("there are nodes 0 to {}", layout.nodes.size() - 1);
}

std::optional<std::uint32_t> read_node(const YamlNode& node, std::string_view key, const host::Layout& layout,
                                       ProblemList& problems) {
  const auto number = read_unsigned(node, key, {0, 1023}, problems);
  if (!number) return std::nullopt;
  if (*number < layout.nodes.size()) return static_cast<std::uint32_t>(*number);
  problems.add(node.place, fmt::format("there is no NUMA node {}", *number), node_remedy(layout));
  return std::nullopt;
}

}  // namespace

void read_places(const MapReader& map, HostConfig& host, LabContext& context) {
  ProblemList& problems = context.problems;
  if (const YamlNode* layout = map.get("layout")) {
    read_layout(*layout, host, problems);
    const auto has_memory = [](const host::NumaNode& node) { return node.memory_B > 0; };
    if (host.model.layout != nullptr && std::ranges::none_of(host.model.layout->nodes, has_memory))
      problems.add(layout->place, "no NUMA node has memory", "write memory 64 GB in a line of numa");
  }
  if (const YamlNode* cpu = map.get("cpu")) read_cpu_use(*cpu, host, problems);
  const YamlNode* gpus = map.get("gpus");
  const auto* list = gpus == nullptr ? nullptr : read_list(*gpus, "gpus", problems);
  if (list != nullptr) {
    for (const YamlNode& item : *list) read_gpu(item, host, context);
  }
  if (const YamlNode* fabric = map.get("gpu_fabric")) {
    if (const auto index = read_word(*fabric, "gpu_fabric", kGpuFabricWords, problems))
      host.places.gpu_fabric = kGpuFabricWords[*index];
  }
  if (const YamlNode* node = map.get("numactl")) read_numactl(*node, host, host.places.placement, problems);
  for (std::string_view key : {"pages", "iommu", "gpudirect", "acs"}) map.read(kHostKeys, key, host);
}

void read_nic_slot(const MapReader& map, HostConfig& host, NicConfig& nic, LabContext& context) {
  const YamlNode* node = map.get("slot");
  if (node == nullptr) return;
  nic.slot = read_slot(*node, host, context.problems);
  if (!nic.slot || nic.model.pcie_generation == 0) return;
  const nic::PcieLink link = host::link_in_slot(host.model, nic.model, nic.slot);
  const nic::PcieLink own = host::link_in_slot(host.model, nic.model, std::nullopt);
  const auto payload_Gbps = [](const nic::PcieLink& each) {
    return static_cast<double>(each.tlp_bps()) / 1e9 * each.max_payload_B / (each.max_payload_B + nic::kTlpOverhead_B);
  };
  const double line_Gbps = static_cast<double>(nic.model.line_rate_bps) / 1e9;
  if (payload_Gbps(link) >= std::min(line_Gbps, payload_Gbps(own))) return;
  context.warnings.add(
      node->place,
      fmt::format("{} runs as PCIe {}.0 x{} in {}: {:.1f} Gb/s each way for a port of {:.0f} Gb/s", nic.model.name,
                  link.generation, link.lanes, host.model.layout->slots[*nic.slot].name, payload_Gbps(link), line_Gbps),
      "put it in a wider slot");
}

void read_numactl(const YamlNode& node, const HostConfig& host, host::Placement& placement, ProblemList& problems) {
  const MapReader map(node, "numactl", kNumactlKeys, problems);
  if (!map.ok() || host.model.layout == nullptr) return;
  const host::Layout& layout = *host.model.layout;
  const YamlNode* cpu_node = map.get("cpunodebind");
  const YamlNode* cpu = map.get("physcpubind");
  if (cpu_node != nullptr) {
    const auto number = read_node(*cpu_node, "cpunodebind", layout, problems);
    const auto is_there = [&](std::uint32_t cpu_number) { return layout.nodes[*number].has_cpu(cpu_number); };
    if (number && layout.nodes[*number].cpus.empty()) {
      problems.add(cpu_node->place, fmt::format("NUMA node {} has no CPUs", *number), "name another node");
    } else if (number && !host.cpu.own.empty() && std::ranges::none_of(host.cpu.own, is_there)) {
      problems.add(cpu_node->place, fmt::format("{} has no CPU on NUMA node {}", host.name, *number),
                   "name a node of its CPUs");
    } else if (number) {
      placement.cpu_node = number;
      placement.cpu.reset();
    }
  }
  if (cpu != nullptr) {
    const auto number = read_unsigned(*cpu, "physcpubind", {0, 4095}, problems);
    host::Placement bound;
    if (number && *number < cpu_count(host)) bind_cpu(host, static_cast<std::uint32_t>(*number), bound);
    const auto its_node = bound.cpu_node;
    if (number && !its_node && !host.cpu.own.empty()) {
      problems.add(cpu->place, fmt::format("{} has no CPU {}", host.name, *number),
                   fmt::format("it has {}: write 0 to {}", cpu_count(host), cpu_count(host) - 1));
    } else if (number && !its_node) {
      std::vector<std::string> ranges;
      for (const host::NumaNode& each : layout.nodes) {
        for (const auto& range : each.cpus) ranges.push_back(fmt::format("{}-{}", range.front(), range.back()));
      }
      problems.add(cpu->place, fmt::format("there is no CPU {}", *number),
                   fmt::format("{} has {}", host.model.name, fmt::join(ranges, ", ")));
    } else if (its_node && placement.cpu_node && cpu_node != nullptr && placement.cpu_node != its_node) {
      problems.add(cpu->place, fmt::format("CPU {} is on NUMA node {}", *number, *its_node),
                   fmt::format("write cpunodebind: {}, or leave it out", *its_node));
    } else if (its_node) {
      placement.cpu = bound.cpu;
      placement.cpu_node = its_node;
    }
  }
  if (const YamlNode* memory = map.get("membind")) {
    const auto number = read_node(*memory, "membind", layout, problems);
    if (number && host.vm && !host.vm->numatune.empty() &&
        std::ranges::find(host.vm->numatune, *number) == host.vm->numatune.end()) {
      problems.add(memory->place, fmt::format("{} has no memory on NUMA node {}", host.name, *number),
                   fmt::format("its numatune has {}", fmt::join(host.vm->numatune, ", ")));
    } else if (number && layout.nodes[*number].memory_B == 0) {
      problems.add(memory->place, fmt::format("NUMA node {} has no memory", *number),
                   "name a node with memory, or give it some in layout");
    } else if (number) {
      placement.memory_node = number;
    }
  } else if (placement.cpu_node && !placement.memory_node && layout.nodes[*placement.cpu_node].memory_B == 0) {
    problems.add(node.place, fmt::format("NUMA node {} has no memory", *placement.cpu_node),
                 "say where the memory is with membind");
  }
}

std::optional<TextError> gpu_problem(const HostConfig& host, std::uint64_t number) {
  const std::size_t count = host.places.gpus.size();
  if (number < count) return std::nullopt;
  return TextError{fmt::format("{} has no GPU {}", host.name, number),
                   count == 0
                       ? "add gpus to the node"
                       : fmt::format("it has {}, numbered from 0", count == 1 ? "one" : fmt::format("{}", count))};
}

// numactl and gpu of flows: the same on all of their hosts.
void WorkloadReading::read_placement(std::span<const PortRef> ports) {
  const YamlNode* numactl = map.get("numactl");
  const YamlNode* gpu = map.get("gpu");
  if ((numactl == nullptr && gpu == nullptr) || ports.empty()) return;
  host::Placement placement;
  if (gpu != nullptr) {
    const auto number = read_unsigned(*gpu, "gpu", {0, 1023}, problems);
    if (!number) return;
    placement.gpu = static_cast<std::uint32_t>(*number);
  }
  for (const PortRef& port : ports) {
    const std::size_t before = problems.size();
    const HostConfig& host = context.lab.hosts[port.host];
    if (numactl != nullptr) read_numactl(*numactl, host, placement, problems);
    const auto problem = placement.gpu ? gpu_problem(host, *placement.gpu) : std::nullopt;
    if (problem) problems.add(gpu->place, problem->message, problem->remedy);
    if (problems.size() != before) return;  // one host is enough
  }
  workload.client_placement = workload.server_placement = placement;
}

// numactl and gpu of both ends, then those of one.
void WorkloadReading::read_placement() {
  struct Side {
    const PortRef& port;
    std::optional<host::Placement>& placement;
    std::string_view numactl, gpu;
  };
  for (const Side& side : {Side{workload.client, workload.client_placement, "client_numactl", "client_gpu"},
                           Side{workload.server, workload.server_placement, "server_numactl", "server_gpu"}}) {
    const HostConfig& host = context.lab.hosts[side.port.host];
    for (std::string_view key : {std::string_view("numactl"), side.numactl}) {
      const YamlNode* node = map.get(key);
      if (node == nullptr) continue;
      if (!side.placement) side.placement = host.places.placement;
      read_numactl(*node, host, *side.placement, problems);
    }
    for (std::string_view key : {std::string_view("gpu"), side.gpu}) {
      const YamlNode* node = map.get(key);
      const auto number = node == nullptr ? std::nullopt : read_unsigned(*node, key, {0, 1023}, problems);
      if (!number) continue;
      if (auto problem = gpu_problem(host, *number)) {
        problems.add(node->place, problem->message, problem->remedy);
        continue;
      }
      if (!side.placement) side.placement = host.places.placement;
      side.placement->gpu = static_cast<std::uint32_t>(*number);
    }
  }
}

}  // namespace weft::lab
