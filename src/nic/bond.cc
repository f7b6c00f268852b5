#include "nic/bond.h"

#include <algorithm>

#include "nic/device.h"

namespace weft::nic {

void Bond::join(Device& first, Device& second) {
  first.bond_.sibling = &second;
  second.bond_ = {&first, true, false, {}};
}

std::uint32_t Bond::ports_of(const Device& device, std::span<const std::uint32_t> qpns) {
  const auto is_other = [&](std::uint32_t qpn) { return &device.owner_of(qpn) != &device.owner_of(qpns.front()); };
  return device.sibling() != nullptr && std::ranges::any_of(qpns, is_other) ? 2 : 1;
}

Counters Bond::counters_of(const Device& device, std::span<const std::uint32_t> qpns) {
  const Device& first = device.owner_of(qpns.front());
  Counters sum = first.counters;
  if (ports_of(device, qpns) == 1) return sum;
  const Counters& other = first.sibling()->counters;
  for (std::size_t c = 0; c < sum.priorities.size(); ++c) {
    sum.priorities[c].tx.packets += other.priorities[c].tx.packets;
    sum.priorities[c].tx.bytes += other.priorities[c].tx.bytes;
  }
  sum.retransmitted_packets += other.retransmitted_packets;
  for (std::size_t w = 0; w < sum.idle_ps.size(); ++w) sum.idle_ps[w] = (sum.idle_ps[w] + other.idle_ps[w]) / 2;
  return sum;
}

void Bond::count_idle_from(Device& device, Time_ps at_ps) {
  device.counters.idle_from_ps = at_ps;
  if (device.sibling() != nullptr) device.sibling()->counters.idle_from_ps = at_ps;
}

void Bond::choose_wire(Device& port, Time_ps now_ps) {
  Device& other = *port.bond_.sibling;
  const bool borrows = !port.up_ && other.up_;
  fabric::LinkDirection* wire = borrows ? &other.wire_ : &port.wire_;
  if (port.out_ == wire) return;
  port.out_ = wire;
  port.bond_.sent_by_own = port.counters;
  port.blocked_ = borrows ? other.blocked_ : port.transmit_control_.blocked();
  port.unpark(now_ps);
}

void Bond::set_link(Device& port, bool up, Time_ps now_ps) {
  port.up_ = up;
  for (Device* each : {&port, port.bond_.sibling}) choose_wire(*each, now_ps);
  settle(port, now_ps);
}

void Bond::settle(Device& port, Time_ps now_ps) {
  Device* lender = &port;
  Device* borrower = port.bond_.sibling;
  if (lender->out_ != borrower->out_) return;
  if (lender->out_ != &lender->wire_) std::swap(lender, borrower);
  const Time_ps free_ps = std::max(lender->free_ps_, borrower->free_ps_);
  for (Device* each : {lender, borrower}) {
    each->free_ps_ = free_ps;
    if (each->service_ps_ != kNever_ps) each->service_ps_ = std::max(each->service_ps_, free_ps);
  }
  if (borrower->blocked_ != lender->blocked_) {
    borrower->blocked_ = lender->blocked_;
    borrower->unpark(now_ps);
  }
  // The port that a frame leaves by counts it.
  const auto move = [](Counters::Traffic& from, Counters::Traffic& own, Counters::Traffic& to) {
    to.packets += from.packets - own.packets;
    to.bytes += from.bytes - own.bytes;
    from = own;
  };
  Counters& own = borrower->bond_.sent_by_own;
  for (std::size_t c = 0; c < own.priorities.size(); ++c)
    move(borrower->counters.priorities[c].tx, own.priorities[c].tx, lender->counters.priorities[c].tx);
  move(borrower->counters.tx_multicast, own.tx_multicast, lender->counters.tx_multicast);
}

}  // namespace weft::nic
