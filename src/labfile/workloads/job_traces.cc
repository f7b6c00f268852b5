// Files that a job is read from: Chakra's traces, SimAI's text.
#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "labfile/workloads/jobs.h"
#include "model/workloads/job_chakra.h"
#include "model/workloads/job_simai.h"
#include "text/yaml_walk.h"

namespace weft::lab {
namespace {

constexpr std::size_t kLargestTrace_B = 1'000'000'000;

std::string path_of(const JobTraceReading& reading) {
  return (std::filesystem::path(reading.context.lab.file).parent_path() / reading.name).string();
}

// groups: {tp0: [0, 1], tp1: [2, 3]}
std::vector<workload::ChakraGroup> read_groups(const JobTraceReading& reading) {
  std::vector<workload::ChakraGroup> groups;
  const YamlNode* node = reading.map.get("groups");
  if (node == nullptr) return groups;
  ProblemList& problems = reading.context.problems;
  if (!node->is_map()) {
    problems.add(node->place, "groups is no map", "write groups: {tp0: [0, 1]}");
    return groups;
  }
  for (std::size_t i = 0; i < node->keys.size(); ++i) {
    workload::ChakraGroup& group = groups.emplace_back();
    group.name = node->keys[i].text;
    const auto* list = read_list(node->children[i], "a group", problems);
    for (const YamlNode& item : list == nullptr ? std::vector<YamlNode>{} : *list) {
      if (const auto rank = read_unsigned(item, "a rank", {0, reading.ranks - 1}, problems))
        group.ranks.push_back(static_cast<std::uint32_t>(*rank));
    }
  }
  return groups;
}

}  // namespace

std::optional<workload::JobGraph> read_chakra_files(const JobTraceReading& reading) {
  ProblemList& problems = reading.context.problems;
  const std::size_t problems_before = problems.size();
  const auto groups = read_groups(reading);
  const std::string prefix = path_of(reading);
  std::vector<workload::ChakraTrace> traces;
  const auto file_of = [&](std::size_t rank) { return fmt::format("{}.{}.et", prefix, rank); };
  std::error_code ignored;
  std::size_t files = 0;
  while (files <= reading.ranks && std::filesystem::exists(file_of(files), ignored)) ++files;
  if (files != reading.ranks) {
    problems.add(reading.file.place,
                 files > reading.ranks
                     ? fmt::format("there are traces of more than {} ranks, the hosts have {} GPUs", reading.ranks,
                                   reading.ranks)
                     : fmt::format("cannot find {}, and the hosts have {} GPUs", file_of(files), reading.ranks),
                 "a trace of each rank, PREFIX.RANK.et, and one GPU for each; set hosts or gpus_per_host, or the path "
                 "from the lab file");
    return std::nullopt;
  }
  for (std::size_t rank = 0; rank < reading.ranks; ++rank) {
    const auto text = read_file(file_of(rank), kLargestTrace_B);
    if (!text) {
      problems.add(reading.file.place, fmt::format("cannot read {}: {}", file_of(rank), text.error()), "");
      return std::nullopt;
    }
    auto trace = workload::read_chakra({reinterpret_cast<const std::uint8_t*>(text->data()), text->size()});
    if (!trace) {
      problems.add(reading.file.place,
                   fmt::format("{}: offset {}: {}", file_of(rank), trace.error().offset_B, trace.error().message),
                   trace.error().remedy);
      return std::nullopt;
    }
    traces.push_back(std::move(*trace));
  }
  if (problems.size() != problems_before) return std::nullopt;
  auto graph = workload::make_chakra_job(traces, groups, reading.flops_per_s);
  if (!graph) {
    const workload::ChakraProblem& problem = graph.error();
    problems.add(reading.file.place,
                 fmt::format("{}: offset {}: {}", file_of(problem.rank), problem.offset_B, problem.message),
                 problem.remedy);
    return std::nullopt;
  }
  return std::move(*graph);
}

std::optional<workload::JobGraph> read_simai_file(const JobTraceReading& reading) {
  ProblemList& problems = reading.context.problems;
  const std::string path = path_of(reading);
  const auto text = read_file(path, kLargestTrace_B);
  if (!text) {
    problems.add(reading.file.place, fmt::format("cannot read {}: {}", path, text.error()),
                 "give the path from the lab file");
    return std::nullopt;
  }
  auto graph = workload::read_simai(*text, static_cast<std::uint32_t>(reading.ranks));
  if (!graph) {
    problems.add(reading.file.place, fmt::format("{}:{}: {}", path, graph.error().line, graph.error().message),
                 graph.error().remedy);
    return std::nullopt;
  }
  return std::move(*graph);
}

}  // namespace weft::lab
