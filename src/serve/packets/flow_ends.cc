#include "serve/packets/flow_ends.h"

#include <algorithm>
#include <exception>
#include <map>
#include <optional>

#include "serve/packets/filter_text.h"
#include "serve/runs/open_run.h"
#include "serve/runs/run_explanation.h"

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
    lab::SqliteRows ports(run.file(), "SELECT node || ':' || name, address FROM port");
    while (ports.next()) addresses[ports.text(0)] = ports.text(1);
    lab::SqliteRows senders(run.file(), "SELECT peer, qpn, peer_qpn FROM sender WHERE port = ? ORDER BY id");
    senders.bind(known->from);
    const auto sender = address_from_text(addresses[known->from]);
    while (senders.next()) {
      const auto qp = static_cast<std::uint32_t>(senders.integer(1));
      const auto receiver = address_from_text(addresses[senders.text(0)]);
      if (std::find(known->qpns.begin(), known->qpns.end(), qp) == known->qpns.end() || !sender || !receiver) continue;
      ends.push_back({*sender, *receiver, qp, static_cast<std::uint32_t>(senders.integer(2))});
    }
  } catch (const std::exception&) {
    ends.clear();  // a damaged store: other requests report it
  }
  return ends;
}

}  // namespace weft::serve
