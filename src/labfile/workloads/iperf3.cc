// workloads with `iperf3`: the flags of iperf3's client.
#include <fmt/format.h>

#include "labfile/lab_fields.h"
#include "labfile/workloads/workload_kind.h"

namespace weft::lab {
namespace {

using workload::Iperf3Options;

std::optional<Iperf3Options> read_iperf3(const YamlNode& node, WorkloadReading& reading) {
  if (!node.is_scalar()) {
    reading.problems.add(node.place, "iperf3 is not a line of flags", "write e.g. iperf3: -t 1, or iperf3: \"\"");
    return std::nullopt;
  }
  auto options = workload::parse_iperf3(workload::split_words(node.text));
  if (options) return *std::move(options);
  for (const std::string& error : options.error()) {
    const std::size_t split = error.find("; ");
    reading.problems.add(node.place, error.substr(0, split), split == std::string::npos ? "" : error.substr(split + 2));
  }
  return std::nullopt;
}

}  // namespace

const Section& kind_keys(std::type_identity<Iperf3Options>) {
  return kIperf3Keys;
}
std::string_view misfit(std::type_identity<Iperf3Options>, std::string_view key) {
  return key == "args" ? "iperf3 has its flags as its own value: iperf3: -t 1" : "iperf3 takes its own flags";
}

void read_kind(std::type_identity<Iperf3Options>, const YamlNode& node, WorkloadReading& reading) {
  auto options = read_iperf3(node, reading);
  const bool connected = reading.read_ends();
  if (connected) {
    reading.read_class();
    reading.read_cpus();
    reading.read_load();
  }
  if (!options) return;
  WorkloadConfig& workload = reading.workload;
  if (connected) {
    if (options->client_cpu)
      reading.bind_end("-A:", node, workload.client, *options->client_cpu, workload.client_placement);
    if (options->server_cpu)
      reading.bind_end("-A:", node, workload.server, *options->server_cpu, workload.server_placement);
    if (options->tos && (workload.dscp || workload.priority))
      reading.problems.add(node.place, "-S or --dscp, and dscp or priority of the lab",
                           "give the traffic class in one place");
  }
  // Where they run is of the workload now.
  options->client_cpu = options->server_cpu = std::nullopt;
  workload.options = *std::move(options);
}

std::vector<TextError> metric_problems(const Iperf3Options& options, const WorkloadConfig& workload,
                                       std::string_view metric) {
  return plain_metric_problems(workload, metric_names(options), metric);
}

}  // namespace weft::lab
