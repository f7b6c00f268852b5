#include "results/json_rows.h"

#include "results/class_quantities.h"
#include "results/counters/drop_reason.h"
#include "results/counters/forwarder_results.h"
#include "results/counters/port_counters.h"

namespace weft::lab {

namespace {

// Zeros are written as well: a script finds each key at each port.
void add_class(store::JsonText& j, const SwitchPortOutcome& port, std::size_t c) {
  j.open_item('{');
  j.add("class", c);
  for (const ClassQuantity& quantity : class_quantities()) j.add(quantity.name, quantity.of_switch(port, c));
  j.close('}');
}

}  // namespace

store::DropRow drop_row(const fabric::DropRecord& drop, const SwitchOutcome& each, const fabric::AddressBook& book) {
  const DropReason& reason = drop_reason(drop.reason);
  store::DropRow row;
  row.node = each.config->name;
  row.time_ps = drop.first_ps;
  row.last_ps = drop.last_ps;
  row.count = drop.count;
  row.in_port = each.ports[drop.in_port].name;
  row.queue = drop.queue;
  row.occupancy_B = drop.occupancy_B;
  if (drop.out_port < each.ports.size()) {
    row.out_port = each.ports[drop.out_port].name;
    row.out_queue = row.queue;
    row.out_queue_B = row.occupancy_B;
  }
  row.reason = reason.name;
  if (reason.wjh_id > 0) row.wjh_id = reason.wjh_id;
  row.source = book[drop.source].name;
  row.destination = book[drop.destination].name;
  row.source_address = address_text(book[drop.source]);
  row.destination_address = address_text(book[drop.destination]);
  row.udp_src_port = drop.udp_src_port;
  row.dest_qp = drop.endpoint;
  row.psn = drop.sequence;
  row.opcode = drop.opcode;
  return row;
}

void add_switch_port(store::JsonText& j, const SwitchPortOutcome& port) {
  j.open('{');
  j.add("name", port.name);
  j.add("peer", port.peer);
  j.add("rate_bps", port.rate_bps);
  j.open("drops", '{');
  for (const DropReason& reason : drop_reasons())
    j.add(reason.metric, port.counters.drops[static_cast<std::size_t>(reason.fate)]);
  j.close('}');
  j.open("classes", '[');
  for (std::size_t c = 0; c < fabric::kClasses; ++c) add_class(j, port, c);
  j.close(']');
  if (port.forwarder) add_forwarder_port(j, *port.forwarder);
  j.close('}');
}

void add_port(store::JsonText& j, const PortOutcome& port) {
  j.open('{');
  j.add("name", port.name);
  j.add("device", port.device);
  j.add("peer", port.peer);
  j.add("address", port.address);
  j.add("rate_bps", port.rate_bps);
  const std::vector<nic::NamedCounter> counters = port_counters(port);
  j.open(kOwnCounters, '{');
  for (const auto& [name, value] : own_counters(port)) j.add(name, value);
  j.close('}');
  for (const auto& [group, key] : {kCounterGroups[1], kCounterGroups[0]}) {
    j.open(key, '{');
    for (const nic::NamedCounter& counter : counters) {
      if (counter.group == group) j.add(counter.name, counter.value);
    }
    j.close('}');
  }
  j.close('}');
}

store::PauseObject pause_object(const PauseRow& row) {
  store::PauseObject object{row.time_ps, row.port, row.peer, {}, row.sent ? "sent" : "received", pause_state(row.what)};
  for (std::uint32_t c = 0; c < fabric::kClasses; ++c) {
    if (row.classes >> c & 1) object.classes.push_back(c);
  }
  return object;
}

store::LedgerRow ledger_row(const LinkOutcome& link) {
  store::LedgerRow row{link.from, link.to,       link.ledger.sent, link.ledger.copies, link.ledger.replicas,
                       {},        link.in_flight};
  for (std::size_t f = 0; f < fabric::kFateCount; ++f)
    row.fates.emplace_back(fabric::kFateNames[f], link.ledger.fates[f]);
  return row;
}

}  // namespace weft::lab
