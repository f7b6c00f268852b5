#include "results/json_rows.h"

#include <cmath>
#include <utility>

#include "results/class_quantities.h"
#include "results/drop_reason.h"
#include "results/forwarder_results.h"
#include "results/port_counters.h"

namespace weft::lab {

namespace {

// Without what is zero; nothing when all of it is.
void add_class(JsonText& j, const SwitchPortOutcome& port, std::size_t c) {
  bool empty = true;
  for (const ClassQuantity& quantity : class_quantities()) {
    const auto value = quantity.of_switch(port, c);
    if (value == 0) continue;
    if (std::exchange(empty, false)) {
      j.open_item('{');
      j.add("class", c);
    }
    j.add(quantity.name, value);
  }
  if (!empty) j.close('}');
}

}  // namespace

double places(double value, int digits) {
  double scale = std::pow(10.0, digits);
  return std::round(value * scale) / scale;
}

void add_drop(JsonText& j, const fabric::DropRecord& drop, const SwitchOutcome& each, const fabric::AddressBook& book) {
  const DropReason& reason = drop_reason(drop.reason);
  j.open('{');
  j.add("time_ps", drop.time_ps);
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
  for (const DropReason& reason : drop_reasons()) {
    std::uint64_t count = port.counters.drops[static_cast<std::size_t>(reason.fate)];
    if (count > 0) j.add(reason.metric, count);
  }
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
      if (counter.group == group && counter.value != 0) j.add(counter.name, counter.value);
    }
    j.close('}');
  };
  j.open("weft", '{');
  const auto ours = [&](const char* name, std::uint64_t value) {
    if (value != 0) j.add(name, value);
  };
  ours("retransmitted_packets", port.counters.retransmitted_packets);
  ours("acks_sent", port.counters.acks_sent);
  ours("naks_sent", port.counters.naks_sent);
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
  if (link.ledger.copies != 0) j.add("copies", link.ledger.copies);
  if (link.ledger.replicas != 0) j.add("replicas", link.ledger.replicas);
  j.open("fates", '{');
  for (std::size_t f = 0; f < fabric::kFateCount; ++f) {
    if (link.ledger.fates[f] != 0) j.add(fabric::kFateNames[f], link.ledger.fates[f]);
  }
  j.close('}');
  if (link.in_flight != 0) j.add("in_flight", link.in_flight);
  j.close('}');
}

}  // namespace weft::lab
