// Which queue pairs a flow is made of: one for each flow of a workload that has them; of other workloads, all from one
// port to another.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "results/evidence.h"

namespace weft::lab {

using SenderGroup = std::vector<const SenderEvidence*>;

// Requests, by port and queue pair. A number that was used again has the last.
using Requests = std::map<std::pair<std::string, std::uint32_t>, const SenderEvidence*>;
Requests requests_of(const Evidence& evidence);

struct FlowSenders {
  const FlowEvidence* flow = nullptr;  // null: what a workload sent from one port to another
  std::string workload;                // empty: several may have made it
  std::string from, to;                // of the data: READ responses are sent by who answers
  SenderGroup senders;                 // empty: it has not begun, or was not recorded
};
// In the order of the workloads' flows; then the others, in that of their first sender.
std::vector<FlowSenders> flow_senders(const Evidence& evidence, const Requests& requests);

}  // namespace weft::lab
