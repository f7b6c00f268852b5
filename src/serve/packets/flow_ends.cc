#include "serve/packets/flow_ends.h"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>

#include "results/evidence_rows.h"
#include "serve/packets/filter_text.h"
#include "serve/runs/open_run.h"
#include "serve/runs/run_explanation.h"
#include "store/rows/run_rows.h"
#include "store/table.h"

namespace weft::serve {

std::vector<FlowEnds> ends_of_flow(const std::string& id, const std::string& directory, const std::string& flow) {
  std::vector<FlowEnds> ends;
  OpenRun run(id, directory);
  if (!run.problem().empty()) return ends;
  try {
    const auto explanation = explanation_of(directory);
    const auto known = std::find_if(explanation->flows.begin(), explanation->flows.end(),
                                    [&](const lab::FlowAnswer& each) { return each.id == flow; });
    if (known == explanation->flows.end()) return ends;
    std::map<std::string, std::string> addresses;
    for (const store::PortRow& row : store::Reader<store::PortRow>(run.file()))
      addresses[row.node + ":" + row.name] = row.address.value_or("");
    const auto sender = address_from_text(addresses[known->from]);
    using Sender = lab::SenderEvidence;
    for (const Sender& row : store::Reader<Sender, &Sender::to, &Sender::qpn, &Sender::peer_qpn>(
             run.file(), "WHERE port = ? ORDER BY id", known->from)) {
      const auto receiver = address_from_text(addresses[row.to]);
      if (std::find(known->qpns.begin(), known->qpns.end(), row.qpn) == known->qpns.end() || !sender || !receiver)
        continue;
      ends.push_back({*sender, *receiver, row.qpn, row.peer_qpn});
    }
  } catch (const std::exception&) {
    ends.clear();  // a damaged store: other requests report it
  }
  return ends;
}

}  // namespace weft::serve
