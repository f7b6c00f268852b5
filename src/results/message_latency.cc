#include "results/message_latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/figures.h"
#include "base/plural.h"
#include "results/kinds/flow_senders.h"

namespace weft::lab {
namespace {

// Who reads has the latency, who answers has the data: it counts for the flow of the data. A queue pair that also sends
// has its own.
LogHistogram latency_of(const FlowSenders& flow, const Requests& requests, std::set<const SenderEvidence*>& counted) {
  LogHistogram sum;
  for (const SenderEvidence* sender : flow.senders) {
    const SenderEvidence* asks = sender;
    if (sender->replies) {
      const auto reader = requests.find({sender->to, sender->peer_qpn});
      asks = reader != requests.end() && reader->second->only_asks ? reader->second : nullptr;
    }
    if (asks != nullptr && counted.insert(asks).second) sum.add(asks->latency);
  }
  return sum;
}

std::string why_none(const Evidence& evidence, const WorkloadEvidence& workload) {
  if (workload.kind == "iperf3") return "a TCP stream has no messages";
  for (const CollectiveEvidence& each : evidence.collectives) {
    if (each.workload == workload.name && each.sockets > 0) return "its collectives went by TCP, which has no messages";
  }
  return evidence.recorded ? "no message was completed" : "not recorded";
}

}  // namespace

MessageLatency message_latency(const Evidence& evidence) {
  MessageLatency out;
  for (const WorkloadEvidence& each : evidence.workloads) out.workloads.push_back({each.name, {}, ""});
  const auto add = [&](const std::string& name, const LogHistogram& latency_ps) {
    const auto found = std::find_if(out.workloads.begin(), out.workloads.end(),
                                    [&](const WorkloadLatency& each) { return each.workload == name; });
    if (found != out.workloads.end()) found->latency_ps.add(latency_ps);
  };
  const Requests requests = requests_of(evidence);
  std::set<const SenderEvidence*> counted;
  for (const FlowSenders& each : flow_senders(evidence, requests)) {
    LogHistogram latency_ps = latency_of(each, requests, counted);
    if (latency_ps.count() == 0) continue;
    add(each.workload, latency_ps);
    const auto number = each.flow == nullptr ? std::nullopt : std::optional(each.flow->number);
    out.flows.push_back({each.workload, number, each.from, each.to, std::move(latency_ps)});
  }
  for (const LatencyEvidence& each : evidence.other_latency) add(each.workload, each.latency);
  for (std::size_t i = 0; i < out.workloads.size(); ++i) {
    if (out.workloads[i].latency_ps.count() == 0) out.workloads[i].none = why_none(evidence, evidence.workloads[i]);
  }
  return out;
}

std::string latency_line(const LogHistogram& latency_ps) {
  return fmt::format("  latency of {} us: p50 {}, p99 {}, p99.9 {}, max {}\n", counted(latency_ps.count(), "message"),
                     us_cell(latency_ps.percentile(5'000)), us_cell(latency_ps.percentile(9'900)),
                     us_cell(latency_ps.percentile(9'990)), us_cell(latency_ps.most()));
}

}  // namespace weft::lab
