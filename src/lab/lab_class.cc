// The traffic class of a workload: `dscp` or `priority`, and what perftest's flags ask for beside them.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lab/lab_sections.h"
#include "lab/perftest_check.h"
#include "lab/port_pairs.h"
#include "wire/mtu.h"

namespace weft::lab {

std::optional<std::uint8_t> dscp_of_priority(const nic::PortQos& qos, std::uint8_t priority) {
  if (qos.priority == priority) return qos.dscp;
  for (std::size_t dscp = 0; dscp < qos.priority_of_dscp.size(); ++dscp) {
    if (dscp != qos.dscp && qos.priority_of_dscp[dscp] == priority) return static_cast<std::uint8_t>(dscp);
  }
  return std::nullopt;
}

void read_traffic_class(const MapReader& map, std::span<const PortRef> ends, WorkloadConfig& workload,
                        LabContext& context) {
  constexpr std::uint64_t kMaxDscp = 63, kMaxPriority = 7;
  const YamlNode *dscp = map.get("dscp"), *priority = map.get("priority");
  if (dscp != nullptr) store(workload.dscp, read_unsigned(*dscp, "dscp", {0, kMaxDscp}, context.problems));
  if (priority == nullptr) return;
  store(workload.priority, read_unsigned(*priority, "priority", {0, kMaxPriority}, context.problems));
  for (const PortRef& end : ends) {
    const HostConfig& host = context.lab.hosts[end.host];
    if (!workload.priority || !host.qos.trust_dscp) continue;
    if (dscp != nullptr) {
      context.problems.add(priority->place, fmt::format("dscp and priority: {} goes by the DSCP", host.name),
                           "give one of them; both count only with qos: {trust: pcp}");
      return;
    }
    if (!dscp_of_priority(host.qos, *workload.priority)) {
      context.problems.add(priority->place,
                           fmt::format("no DSCP of {} maps to priority {}", host.name, *workload.priority),
                           fmt::format("add qos: {{dscp_to_priority: {{{}: {}}}}}, or give dscp",
                                       *workload.priority * 8, *workload.priority));
      return;
    }
  }
}

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
                        "they say the same thing: give one of them"});
  if (options.traffic_class && workload.priority && lab.hosts[workload.client.host].qos.trust_dscp)
    problems.push_back({fmt::format("--tclass={} and priority {}", *options.traffic_class, *workload.priority),
                        "both choose the DSCP: give one of them"});
  if (options.service_level && workload.priority)
    problems.push_back({fmt::format("-S {} and priority {}", *options.service_level, *workload.priority),
                        "they say the same thing: give one of them"});
  return problems;
}

}  // namespace weft::lab
