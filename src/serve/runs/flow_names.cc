#include "serve/runs/flow_names.h"

#include "results/evidence_rows.h"
#include "serve/runs/run_explanation.h"
#include "store/table.h"

namespace weft::serve {

FlowNames::FlowNames(OpenRun& run) {
  const auto explanation = explanation_of(run.directory());
  for (const lab::FlowAnswer& flow : explanation->flows) {
    for (const std::uint32_t qpn : flow.qpns) senders_.try_emplace({flow.from, qpn}, flow.id);
  }
  using Sender = lab::SenderEvidence;
  for (const Sender& row :
       store::Reader<Sender, &Sender::from, &Sender::to, &Sender::qpn, &Sender::peer_qpn>(run.file(), "ORDER BY id")) {
    const auto name = senders_.find({row.from, row.qpn});
    if (name != senders_.end()) receivers_.try_emplace({row.from, row.to, row.peer_qpn}, name->second);
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
