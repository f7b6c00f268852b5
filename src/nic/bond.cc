#include "nic/bond.h"

#include <algorithm>

#include "base/check.h"
#include "nic/device.h"

namespace weft::nic {

void Bond::join(Port& first, Port& second) {
  WEFT_CHECK(first.bond.sibling == nullptr, "a bond of three ports");
  first.bond.sibling = &second;
  second.bond = {&first, true, false, {}};
}

std::uint32_t Bond::ports_of(const Device& device, std::span<const std::uint32_t> qpns) {
  const auto is_other = [&](std::uint32_t qpn) { return &device.owner_of(qpn) != &device.owner_of(qpns.front()); };
  return device.sibling() != nullptr && std::ranges::any_of(qpns, is_other) ? 2 : 1;
}

Counters Bond::counters_of(const Device& device, std::span<const std::uint32_t> qpns) {
  const Device& first = device.owner_of(qpns.front());
  Counters sum = first.counters();
  if (ports_of(device, qpns) == 1) return sum;
  const Counters& other = first.sibling()->counters();
  for (std::size_t c = 0; c < sum.priorities.size(); ++c) {
    sum.priorities[c].tx.packets += other.priorities[c].tx.packets;
    sum.priorities[c].tx.bytes += other.priorities[c].tx.bytes;
  }
  sum.retransmitted_packets += other.retransmitted_packets;
  for (std::size_t w = 0; w < sum.idle_ps.size(); ++w) sum.idle_ps[w] = (sum.idle_ps[w] + other.idle_ps[w]) / 2;
  return sum;
}

void Bond::count_idle_from(Device& device, Time_ps at_ps) {
  device.port().counters.idle_from_ps = at_ps;
  if (device.sibling() != nullptr) device.sibling()->port().counters.idle_from_ps = at_ps;
}

void Bond::choose_wire(Port& port, Time_ps now_ps) {
  Port& other = *port.bond.sibling;
  const bool borrows = !port.is_up && other.is_up;
  fabric::LinkDirection& wire = borrows ? other.wire : port.wire;
  if (&port.schedule.wire() == &wire) return;
  port.schedule.set_wire(wire);
  port.bond.sent_by_own = port.counters;
  port.schedule.set_blocked(borrows ? other.schedule.blocked() : port.pauses.received().blocked());
  port.unpark(now_ps);
}

void Bond::set_link(Port& port, bool up, Time_ps now_ps) {
  port.is_up = up;
  for (Port* each : {&port, port.bond.sibling}) choose_wire(*each, now_ps);
  settle(port, now_ps);
}

void Bond::settle(Port& port, Time_ps now_ps) {
  Port* lender = &port;
  Port* borrower = port.bond.sibling;
  if (&lender->schedule.wire() != &borrower->schedule.wire()) return;
  if (&lender->schedule.wire() != &lender->wire) std::swap(lender, borrower);
  WEFT_CHECK(&lender->schedule.wire() == &lender->wire, "two ports of a bond send by a cable of neither");
  const Time_ps free_ps = std::max(lender->schedule.free_ps(), borrower->schedule.free_ps());
  for (Port* each : {lender, borrower}) each->schedule.delay_turns(free_ps);
  if (borrower->schedule.blocked() != lender->schedule.blocked()) {
    borrower->schedule.set_blocked(lender->schedule.blocked());
    borrower->unpark(now_ps);
  }
  // The port that a frame leaves by counts it.
  const auto move = [](Counters::Traffic& from, Counters::Traffic& own, Counters::Traffic& to) {
    to.packets += from.packets - own.packets;
    to.bytes += from.bytes - own.bytes;
    from = own;
  };
  Counters& own = borrower->bond.sent_by_own;
  for (std::size_t c = 0; c < own.priorities.size(); ++c)
    move(borrower->counters.priorities[c].tx, own.priorities[c].tx, lender->counters.priorities[c].tx);
  move(borrower->counters.tx_multicast, own.tx_multicast, lender->counters.tx_multicast);
}

}  // namespace weft::nic
