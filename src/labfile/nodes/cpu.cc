// `cpu` of a host, and `cpus` and `cpu` of a workload.
#include <fmt/format.h>

#include <algorithm>

#include "labfile/lab_fields.h"
#include "labfile/sections.h"
#include "labfile/workloads/workload_kind.h"

namespace weft::lab {
namespace {

constexpr std::uint64_t kMostStress = 4096;

}  // namespace

std::optional<std::vector<std::uint32_t>> read_cpu_list(const YamlNode& node, std::string_view what,
                                                        const host::HostModel& model, ProblemList& problems) {
  const auto text = read_text(node, what, problems);
  if (!text) return std::nullopt;
  std::vector<std::uint32_t> list;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t dash = part.find('-');
    const auto first = parse_unsigned(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_unsigned(part.substr(dash + 1));
    if (!first || !last || *first > *last) {
      problems.add(node.place, fmt::format("{} {} is no list of CPUs", what, in_quotes(*text)),
                   "write it as Linux does, e.g. \"2-7,34-39\"");
      return std::nullopt;
    }
    if (*last >= model.cpus) {
      problems.add(node.place, fmt::format("{}: {} has no CPU {}", what, model.name, *last),
                   fmt::format("it has CPUs 0 to {}; layout changes that", model.cpus - 1));
      return std::nullopt;
    }
    for (std::uint64_t cpu = *first; cpu <= *last; ++cpu) {
      if (std::find(list.begin(), list.end(), cpu) == list.end()) list.push_back(static_cast<std::uint32_t>(cpu));
    }
  }
  return list;
}

std::uint64_t cpu_count(const HostConfig& host) {
  return host.cpu.own.empty() ? host.model.cpus : host.cpu.own.size();
}

void bind_cpu(const HostConfig& host, std::uint32_t cpu, host::Placement& placement) {
  placement.cpu = cpu;
  if (host.model.layout == nullptr) return;
  placement.cpu_node = host.model.layout->node_of_cpu(host.cpu.own.empty() ? cpu : host.cpu.own[cpu]);
}

namespace {

void check_stress(const YamlNode& node, std::uint32_t stress, const std::vector<std::uint32_t>& isolated,
                  const host::HostModel& model, ProblemList& problems) {
  if (stress > 0 && isolated.size() == model.cpus)
    problems.add(node.place, fmt::format("all {} CPUs are isolated: stress has none to run on", model.cpus),
                 "leave some out of isolated");
}

}  // namespace

void read_cpu_use(const YamlNode& node, HostConfig& host, ProblemList& problems) {
  const MapReader map(node, fmt::format("cpu of {}", host.name), kCpuKeys, problems);
  host::CpuUse& use = host.cpu;
  const auto list = [&](std::string_view key, std::vector<std::uint32_t>& target) {
    const YamlNode* given = map.get(key);
    if (given == nullptr) return;
    if (auto read = read_cpu_list(*given, key, host.model, problems)) target = *std::move(read);
  };
  list("cpus", use.own);
  list("isolated", use.isolated);
  list("irq", use.irq);
  if (const YamlNode* irq = map.get("irq"); irq != nullptr && !use.own.empty()) {
    for (std::uint32_t cpu : use.irq) {
      if (std::find(use.own.begin(), use.own.end(), cpu) != use.own.end()) continue;
      problems.add(irq->place, fmt::format("irq: CPU {} is not one of {}'s", cpu, host.name),
                   "write one of its cpus, as the machine numbers them");
      break;
    }
  }
  if (const YamlNode* stress = map.get("stress")) {
    map.read(kCpuKeys, "stress", use);
    check_stress(*stress, use.stress, use.isolated, host.model, problems);
  }
}

void WorkloadReading::read_cpus() {
  const YamlNode* node = map.get("cpus");
  if (node == nullptr) return;
  const auto read_one = [&](const YamlNode& given, const PortRef& end, std::optional<host::Placement>& placement) {
    const auto cpu = read_unsigned(given, "cpus", {0, 4096}, problems);
    return cpu && bind_end("cpus:", given, end, static_cast<std::uint32_t>(*cpu), placement);
  };
  if (node->is_scalar()) {
    if (read_one(*node, workload.client, workload.client_placement))
      read_one(*node, workload.server, workload.server_placement);
    return;
  }
  const auto* list = read_list(*node, "cpus", problems);
  if (list == nullptr) return;
  if (list->size() != 2) {
    problems.add(node->place, fmt::format("cpus has {} numbers", list->size()),
                 "write [client, server], or one number");
    return;
  }
  read_one(list->front(), workload.client, workload.client_placement);
  read_one(list->back(), workload.server, workload.server_placement);
}

bool WorkloadReading::bind_end(std::string_view what, const YamlNode& node, const PortRef& end, std::uint32_t cpu,
                               std::optional<host::Placement>& placement) {
  const HostConfig& host = context.lab.hosts[end.host];
  const std::uint64_t count = cpu_count(host);
  if (cpu >= count) {
    problems.add(node.place, fmt::format("{} {} has no CPU {}", what, host.name, cpu),
                 fmt::format("it has {}: write 0 to {}", count, count - 1));
    return false;
  }
  if (!placement) placement = host.places.placement;
  bind_cpu(host, cpu, *placement);
  return true;
}

// `cpu` of a workload: what else runs on the machines of its ends meanwhile.
void WorkloadReading::read_load() {
  const YamlNode* node = map.get("cpu");
  if (node == nullptr) return;
  const MapReader load(*node, fmt::format("cpu of {}", workload.name), kLoadKeys, problems);
  if (!load.ok()) return;
  if (workload.start_ps) {
    problems.add(node->place, "cpu of a workload with start: others would run with it too",
                 "leave start out, or write cpu at the node");
    return;
  }
  for (const PortRef& end : {workload.client, workload.server}) {
    const HostConfig& host = context.lab.hosts[machine_of(context.lab, end.host)];
    const std::size_t before = problems.size();
    if (const YamlNode* isolated = load.get("isolated"))
      workload.isolated = read_cpu_list(*isolated, "isolated", host.model, problems);
    if (const YamlNode* stress = load.get("stress")) {
      const auto threads = read_unsigned(*stress, "stress", {0, kMostStress}, problems);
      if (threads) workload.stress = static_cast<std::uint32_t>(*threads);
      if (threads)
        check_stress(*stress, *workload.stress, workload.isolated.value_or(host.cpu.isolated), host.model, problems);
    }
    if (problems.size() != before) return;  // one host is enough
  }
}

}  // namespace weft::lab
