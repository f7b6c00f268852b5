// `cpu` of a host, and `cpus` of a workload.
#include <fmt/format.h>

#include <algorithm>

#include "labfile/sections.h"
#include "labfile/words.h"
#include "labfile/workload_kind.h"

namespace weft::lab {
namespace {

constexpr std::uint64_t kMostStress = 4096;

// "2-7,34-39" as Linux writes a list of CPUs.
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
                   fmt::format("it has CPUs 0 to {}; set: {{cpus: N}} changes that", model.cpus - 1));
      return std::nullopt;
    }
    for (std::uint64_t cpu = *first; cpu <= *last; ++cpu) {
      if (std::find(list.begin(), list.end(), cpu) == list.end()) list.push_back(static_cast<std::uint32_t>(cpu));
    }
  }
  return list;
}

}  // namespace

void read_cpu_use(const YamlNode& node, HostConfig& host, ProblemList& problems) {
  const MapReader map(node, fmt::format("cpu of {}", host.name), cpu_keys(), problems);
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
  const YamlNode* stress = map.get("stress");
  if (stress == nullptr) return;
  store(use.stress, read_unsigned(*stress, "stress", {0, kMostStress}, problems));
  if (use.stress > 0 && use.isolated.size() == host.model.cpus)
    problems.add(stress->place, fmt::format("all {} CPUs are isolated: stress has none to run on", host.model.cpus),
                 "leave some out of isolated");
}

void WorkloadReading::read_cpus() {
  const YamlNode* node = map.get("cpus");
  if (node == nullptr) return;
  const auto read_one = [&](const YamlNode& given, const PortRef& end, std::optional<std::uint32_t>& target) {
    const HostConfig& host = context.lab.hosts[end.host];
    const std::uint64_t count = host.cpu.own.empty() ? host.model.cpus : host.cpu.own.size();
    const auto cpu = read_unsigned(given, "cpus", {0, 4096}, problems);
    if (!cpu) return;
    if (*cpu >= count) {
      problems.add(given.place, fmt::format("cpus: {} has no CPU {}", host.name, *cpu),
                   fmt::format("it has {}: write 0 to {}", count, count - 1));
      return;
    }
    target = static_cast<std::uint32_t>(*cpu);
  };
  if (node->is_scalar()) {
    read_one(*node, workload.client, workload.client_cpu);
    if (workload.client_cpu) read_one(*node, workload.server, workload.server_cpu);
    return;
  }
  const auto* list = read_list(*node, "cpus", problems);
  if (list == nullptr) return;
  if (list->size() != 2) {
    problems.add(node->place, fmt::format("cpus has {} numbers", list->size()),
                 "write [client, server], or one number");
    return;
  }
  read_one(list->front(), workload.client, workload.client_cpu);
  read_one(list->back(), workload.server, workload.server_cpu);
}

}  // namespace weft::lab
