#include "model/perftest_check.h"

#include <fmt/format.h>

#include "model/port_pairs.h"
#include "wire/mtu.h"

namespace weft::lab {

std::vector<TextError> perftest_problems(const workload::PerftestOptions& options, const Lab& lab,
                                         const WorkloadConfig& workload) {
  std::vector<TextError> problems;
  const std::uint32_t mtu_B = path_mtu_B(lab, {workload.client, workload.server});
  if (options.mtu_B > mtu_B) {
    problems.push_back(
        {fmt::format("-m {}: the path has a RoCE MTU of {} B", options.mtu_B, mtu_B),
         fmt::format("raise the netdev mtu to {} B at both ends", options.mtu_B + wire::kIboeHeaderReserve_B)});
  }
  if (!options.device.empty() && device_name(lab, workload.client) != options.device) {
    problems.push_back({fmt::format("-d {}: {} is {}", options.device, port_name(lab, workload.client),
                                    device_name(lab, workload.client)),
                        fmt::format("-d names the client's device; {} has {}", lab.hosts[workload.client.host].name,
                                    device_list(lab, workload.client.host))});
  }
  for (const PortRef& end : {workload.client, workload.server}) {
    if (!options.gpu) break;
    const HostConfig& host = lab.hosts[end.host];
    const std::string_view api = options.rocm ? "rocm" : "cuda";
    const auto& placement = end == workload.client ? workload.client_placement : workload.server_placement;
    if (placement && placement->gpu) {
      problems.push_back({fmt::format("--use_{}={} and gpu {}", api, *options.gpu, *placement->gpu),
                          "they are the same setting: give one of them"});
      break;
    }
    if (*options.gpu >= host.places.gpus.size()) {
      problems.push_back({fmt::format("--use_{}={}: {} has no GPU {}", api, *options.gpu, host.name, *options.gpu),
                          host.places.gpus.empty()
                              ? std::string("add gpus to the node")
                              : fmt::format("its GPUs are numbered 0 to {}", host.places.gpus.size() - 1)});
    } else if (const host::GpuModel& gpu = host.places.gpus[*options.gpu].model; gpu.api != api) {
      problems.push_back({fmt::format("--use_{}={}: {} of {} is no GPU of {}", api, *options.gpu, gpu.name, host.name,
                                      options.rocm ? "AMD" : "NVIDIA"),
                          fmt::format("write --use_{}={}", gpu.api, *options.gpu)});
    }
  }
  if (options.service_level.value_or(0) != 0) {
    for (const PortRef& end : {workload.client, workload.server}) {
      const HostConfig& host = lab.hosts[end.host];
      if (!host.qos.trust_dscp) continue;
      problems.push_back({fmt::format("-S {}: {} goes by the DSCP", *options.service_level, host.name),
                          "give --tclass, which is the DSCP times 4, or write qos: {trust: pcp}"});
      break;
    }
  }
  if (options.traffic_class && workload.dscp)
    problems.push_back({fmt::format("--tclass={} and dscp {}", *options.traffic_class, *workload.dscp),
                        "they are the same setting: give one of them"});
  if (options.traffic_class && workload.priority && lab.hosts[workload.client.host].qos.trust_dscp)
    problems.push_back({fmt::format("--tclass={} and priority {}", *options.traffic_class, *workload.priority),
                        "both choose the DSCP: give one of them"});
  if (options.service_level && workload.priority)
    problems.push_back({fmt::format("-S {} and priority {}", *options.service_level, *workload.priority),
                        "they are the same setting: give one of them"});
  return problems;
}

}  // namespace weft::lab
