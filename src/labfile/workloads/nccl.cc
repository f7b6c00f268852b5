// workloads with `nccl`: a test of nccl-tests with its own flags, on the GPUs of hosts.
#include <fmt/format.h>

#include <algorithm>

#include "labfile/lab_fields.h"
#include "labfile/workloads/workload_kind.h"
#include "model/nccl_job.h"
#include "nccl/decide/environment.h"
#include "nccl/text/tests_options.h"

namespace weft::lab {
namespace {

using workload::NcclOptions;

void add_split(ProblemList& problems, const Place& place, const std::string& error) {
  const std::size_t split = error.find("; ");
  problems.add(place, error.substr(0, split), split == std::string::npos ? "" : error.substr(split + 2));
}

void read_nccl_hosts(const YamlNode& node, NcclOptions& options, WorkloadReading& reading) {
  const auto add = [&](const YamlNode& item) {
    const auto text = read_text(item, "hosts", reading.problems);
    if (!text) return;
    if (find_host(*text, item.place, reading.context) == nullptr) return;
    const auto& hosts = reading.context.lab.hosts;
    const auto found =
        std::find_if(hosts.begin(), hosts.end(), [&](const HostConfig& host) { return host.name == *text; });
    const auto index = static_cast<std::uint32_t>(found - hosts.begin());
    if (std::find(options.hosts.begin(), options.hosts.end(), index) != options.hosts.end())
      reading.problems.add(item.place, fmt::format("{} twice", *text), "name each host once");
    options.hosts.push_back(index);
  };
  if (node.is_sequence()) {
    for (const YamlNode& item : node.children) add(item);
  } else if (node.is_scalar() && node.text == "all") {
    options.hosts = hosts_with_gpus(reading.context.lab);
  } else {
    add(node);
  }
}

void read_env(const YamlNode& node, NcclOptions& options, ProblemList& problems) {
  if (!node.is_map()) {
    problems.add(node.place, "env is not a map of variables", "write e.g. env: {NCCL_IB_QPS_PER_CONNECTION: 4}");
    return;
  }
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const std::string& name = node.keys[i].text;
    if (node.children[i].is_scalar() && name.starts_with("NCCL_")) {
      options.environment.emplace_back(name, node.children[i].text);
    } else {
      problems.add(node.keys[i].place, fmt::format("{} is not a variable of NCCL", name),
                   "write e.g. NCCL_DEBUG: INFO");
    }
  }
}

}  // namespace

const Section& kind_keys(std::type_identity<NcclOptions>) {
  return kNcclKeys;
}
std::string_view misfit(std::type_identity<NcclOptions>, std::string_view key) {
  return key == "args" ? "nccl has its flags as its own value: nccl: all_reduce_perf -b 8 -e 128M -f 2"
                       : "nccl takes hosts, gpus_per_host, env, algorithm, nccl_version, dscp and priority";
}

void read_kind(std::type_identity<NcclOptions>, const YamlNode& node, WorkloadReading& reading) {
  ProblemList& problems = reading.problems;
  const std::size_t problems_before = problems.size();
  if (!node.is_scalar() || node.text.empty()) {
    problems.add(node.place, "nccl is not a test with its flags", "write e.g. nccl: all_reduce_perf -b 8 -e 128M -f 2");
    return;
  }
  std::vector<std::string> words = workload::split_words(node.text);
  auto test = nccl::parse_tests(words.front(), std::span(words).subspan(1));
  NcclOptions options;
  if (test) {
    options.test = *std::move(test);
  } else {
    for (const std::string& error : test.error()) add_split(problems, node.place, error);
  }
  if (const YamlNode* hosts = reading.map.get("hosts")) {
    read_nccl_hosts(*hosts, options, reading);
  } else {
    options.hosts = hosts_with_gpus(reading.context.lab);
  }
  reading.map.read(kNcclKeys, options);
  if (const YamlNode* env = reading.map.get("env")) read_env(*env, options, problems);
  if (const YamlNode* version = reading.map.get("nccl_version")) {
    const auto number = nccl::parse_version(version->is_scalar() ? version->text : "");
    if (!number) problems.add(version->place, "nccl_version is not a version from 2.18 to 2.30", "write e.g. 2.21.5");
    options.version = number.value_or(0);
  }
  if (problems.size() != problems_before || !reading.context.links_complete) return;
  for (const TextError& problem : nccl_problems(options, reading.context.lab))
    problems.add(node.place, problem.message, problem.remedy);
  for (const TextError& warning : nccl_warnings(options))
    reading.context.warnings.add(node.place, warning.message, warning.remedy);
  const NcclMachines machines = nccl_machines(reading.context.lab, options.hosts);
  std::vector<PortRef> ports;
  for (const auto& each : machines.ports) ports.insert(ports.end(), each.begin(), each.end());
  if (!ports.empty()) read_traffic_class(reading.map, ports, reading.workload, reading.context);
  reading.workload.options = std::move(options);
}

std::vector<TextError> metric_problems(const NcclOptions& options, const WorkloadConfig& workload,
                                       std::string_view metric) {
  const std::size_t dot = metric.find('.');
  const std::string_view name = metric.substr(0, dot);
  const bool sized = name == "busbw_GBps" || name == "algbw_GBps" || name == "time_us";
  if (dot == metric.npos || !sized) return plain_metric_problems(workload, metric_names(options), metric);
  const auto size_B = parse_unsigned(metric.substr(dot + 1));
  const auto sizes = options.test.sizes();
  if (size_B && std::find(sizes.begin(), sizes.end(), *size_B) != sizes.end()) return {};
  return {{fmt::format("{} has no row of {} B", workload.name, metric.substr(dot + 1)),
           "write one of the sizes that -b, -e and -f make, in bytes"}};
}

}  // namespace weft::lab
