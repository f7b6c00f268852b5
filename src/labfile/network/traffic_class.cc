// The traffic class of a workload: `dscp` or `priority`.
#include <fmt/format.h>

#include "labfile/lab_fields.h"
#include "labfile/sections.h"

namespace weft::lab {

void read_traffic_class(const MapReader& map, std::span<const PortRef> ends, WorkloadConfig& workload,
                        LabContext& context) {
  const YamlNode *dscp = map.get("dscp"), *priority = map.get("priority");
  map.read(kClassKeys, workload);
  if (priority == nullptr) return;
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

}  // namespace weft::lab
