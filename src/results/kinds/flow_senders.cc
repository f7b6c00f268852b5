#include "results/kinds/flow_senders.h"

#include <set>
#include <tuple>

namespace weft::lab {
namespace {

// That whose queue pair it is; of programs and older files by its turn and ends, where only one can be meant.
std::string workload_of(const Evidence& evidence, const SenderEvidence& sender) {
  if (!sender.workload.empty()) return sender.workload;
  std::string found;
  for (const WorkloadEvidence& each : evidence.workloads) {
    if (each.kind == "flows" || each.kind == "iperf3") continue;
    if (each.to_ps > 0 && (sender.first_ps < each.from_ps || sender.first_ps > each.to_ps)) continue;
    const bool fits = each.client.empty() || (each.client == sender.from && each.server == sender.to) ||
                      (each.client == sender.to && each.server == sender.from);
    if (!fits) continue;
    if (!found.empty()) return "";
    found = each.name;
  }
  return found;
}

}  // namespace

Requests requests_of(const Evidence& evidence) {
  Requests requests;
  for (const SenderEvidence& sender : evidence.senders) {
    if (!sender.replies) requests.insert_or_assign({sender.from, sender.qpn}, &sender);
  }
  return requests;
}

std::vector<FlowSenders> flow_senders(const Evidence& evidence, const Requests& requests) {
  std::vector<FlowSenders> out;
  std::set<const SenderEvidence*> used;
  for (const FlowEvidence& each : evidence.flows) {
    FlowSenders flow{&each, each.workload, each.from, each.to, {}};
    const auto found = requests.find({each.from, each.qpn});
    if (each.qpn != 0 && found != requests.end()) {
      flow.senders.push_back(found->second);
      used.insert(found->second);
    }
    out.push_back(std::move(flow));
  }
  std::set<std::pair<std::string, std::uint32_t>> readers;  // who answers READs
  for (const SenderEvidence& sender : evidence.senders) {
    if (sender.replies) readers.emplace(sender.from, sender.qpn);
  }
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;  // by workload and ends
  for (const SenderEvidence& sender : evidence.senders) {
    // Where the data of READs comes from, its requests say nothing more.
    const bool is_told_by_the_other_end = sender.only_asks && readers.contains({sender.to, sender.peer_qpn});
    if (used.contains(&sender) || is_told_by_the_other_end) continue;
    std::string workload = workload_of(evidence, sender);
    const auto [place, is_new] = places.try_emplace({workload, sender.from, sender.to}, out.size());
    if (is_new) out.push_back({nullptr, std::move(workload), sender.from, sender.to, {}});
    out[place->second].senders.push_back(&sender);
  }
  return out;
}

}  // namespace weft::lab
