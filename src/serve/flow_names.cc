#include "serve/flow_names.h"

namespace weft::serve {

FlowNames::FlowNames(OpenRun& run) {
  lab::SqliteRows rows(run.file(),
                       "SELECT s.port, s.peer, s.qpn, s.peer_qpn, f.workload, f.number FROM sender s LEFT JOIN "
                       "flow_sender f ON f.sender = s.id ORDER BY s.id, f.rowid");
  while (rows.next()) {
    const std::string name = rows.is_null(4) ? (rows.text(1).empty() ? "" : rows.text(0) + ">" + rows.text(1))
                                             : rows.text(4) + "." + std::to_string(rows.integer(5));
    senders_.try_emplace({rows.text(0), rows.integer(2)}, name);
    receivers_.try_emplace({rows.text(0), rows.text(1), rows.integer(3)}, name);
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
