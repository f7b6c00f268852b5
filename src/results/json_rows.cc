#include "results/json_rows.h"

#include <cmath>

#include "results/class_quantities.h"
#include "results/counters/drop_reason.h"
#include "results/counters/forwarder_results.h"
#include "results/counters/port_counters.h"

namespace weft::lab {

namespace {

// Zeros are written as well: a script finds each key at each port.
void add_class(JsonText& j, const SwitchPortOutcome& port, std::size_t c) {
  j.open_item('{');
  j.add("class", c);
  for (const ClassQuantity& quantity : class_quantities()) j.add(quantity.name, quantity.of_switch(port, c));
  j.close('}');
}

}  // namespace

double places(double value, int digits) {
  double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

void add_drop(JsonText& j, const fabric::DropRecord& drop, const SwitchOutcome& each, const fabric::AddressBook& book) {
  const DropReason& reason = drop_reason(drop.reason);
  j.open('{');
  j.add("time_ps", drop.first_ps);
  j.add("last_ps", drop.last_ps);
  j.add("count", drop.count);
  j.add("in", each.ports[drop.in_port].name);
  if (drop.out_port < each.ports.size()) {
    j.add("out", each.ports[drop.out_port].name);
    j.add("queue", drop.queue);
    j.add("occupancy_B", drop.occupancy_B);
  }
  j.add("reason", reason.name);
  if (reason.wjh_id == 0) {
    j.add("wjh_id", nullptr);
  } else {
    j.add("wjh_id", reason.wjh_id);
  }
  j.add("from", book[drop.source].name);
  j.add("to", book[drop.destination].name);
  j.add("src_ip", address_text(book[drop.source]));
  j.add("dst_ip", address_text(book[drop.destination]));
  j.add("udp_src_port", drop.udp_src_port);
  j.add("dest_qp", drop.endpoint);
  j.add("psn", drop.sequence);
  j.add("opcode", drop.opcode);
  j.close('}');
}

void add_switch_port(JsonText& j, const SwitchPortOutcome& port) {
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

void add_port(JsonText& j, const PortOutcome& port) {
  j.open('{');
  j.add("name", port.name);
  j.add("device", port.device);
  j.add("peer", port.peer);
  j.add("address", port.address);
  j.add("rate_bps", port.rate_bps);
  const std::vector<nic::NamedCounter> counters = port_counters(port);
  const auto add_group = [&](const char* key, nic::CounterGroup group) {
    j.open(key, '{');
    for (const nic::NamedCounter& counter : counters) {
      if (counter.group == group) j.add(counter.name, counter.value);
    }
    j.close('}');
  };
  j.open("weft", '{');
  j.add("retransmitted_packets", port.counters.retransmitted_packets);
  j.add("acks_sent", port.counters.acks_sent);
  j.add("naks_sent", port.counters.naks_sent);
  j.close('}');
  add_group("ethtool", nic::CounterGroup::kEthtool);
  add_group("hw_counters", nic::CounterGroup::kHardware);
  j.close('}');
}

void add_pause(JsonText& j, const PauseRow& row) {
  j.open('{');
  j.add("time_ps", row.time_ps);
  j.add("port", row.port);
  j.add("peer", row.peer);
  j.open("classes", '[');
  for (std::size_t c = 0; c < fabric::kClasses; ++c) {
    if (row.classes >> c & 1) j.item(c);
  }
  j.close(']');
  j.add("direction", row.sent ? "sent" : "received");
  j.add("what", pause_state(row.what));
  j.close('}');
}

void add_link(JsonText& j, const LinkOutcome& link) {
  j.open('{');
  j.add("from", link.from);
  j.add("to", link.to);
  j.add("sent", link.ledger.sent);
  j.add("copies", link.ledger.copies);
  j.add("replicas", link.ledger.replicas);
  j.open("fates", '{');
  for (std::size_t f = 0; f < fabric::kFateCount; ++f) j.add(fabric::kFateNames[f], link.ledger.fates[f]);
  j.close('}');
  j.add("in_flight", link.in_flight);
  j.close('}');
}

}  // namespace weft::lab
