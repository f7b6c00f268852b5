#include "serve/runs/flow_names.h"

#include "serve/runs/run_explanation.h"

namespace weft::serve {

FlowNames::FlowNames(OpenRun& run) {
  const auto explanation = explanation_of(run.directory());
  for (const lab::FlowAnswer& flow : explanation->flows) {
    for (const std::uint32_t qpn : flow.qpns) senders_.try_emplace({flow.from, qpn}, flow.id);
  }
  lab::SqliteRows rows(run.file(), "SELECT port, peer, qpn, peer_qpn FROM sender ORDER BY id");
  while (rows.next()) {
    const auto name = senders_.find({rows.text(0), rows.integer(2)});
    if (name != senders_.end()) receivers_.try_emplace({rows.text(0), rows.text(1), rows.integer(3)}, name->second);
  }
}

std::string FlowNames::of_sender(const std::string& port, std::int64_t qpn) const {
  const auto at = senders_.find({port, qpn});
  return at == senders_.end() ? "" : at->second;
}

std::string FlowNames::of_receiver(const std::string& from, const std::string& to, std::int64_t qpn) const {
  const auto at = receivers_.find({from, to, qpn});
  return at == receivers_.end() ? "" : at->second;
}

}  // namespace weft::serve
