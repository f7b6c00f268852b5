#include "workload/perftest/port_account.h"

#include <algorithm>

#include "fabric/link.h"
#include "nic/device_control.h"
#include "nic/pcie/path.h"
#include "spec/wait.h"

namespace weft::workload {

Surroundings surroundings_of(const AccountEnd& receiver, const CountLosses& losses) {
  Surroundings around;
  nic::Device& device = *receiver.device;
  for (nic::Device* port : {&device, device.sibling()}) {
    if (port == nullptr) continue;
    for (std::size_t c = 0; c < fabric::kPauseClasses; ++c)
      around.paused_ps = std::max(around.paused_ps, port->pauses().sent_ps(c, port->last_event_ps()));
    around.discards += port->counters().rx_discards_phy;
  }
  around.write_times = nic::DeviceControl(device).function_of(receiver.qpn).write_times();
  if (losses) around.lost = losses();
  return around;
}

void add_surroundings(PortAccount& account, const AccountEnd& sender, const AccountEnd& receiver,
                      const Surroundings& before, const CountLosses& losses, std::uint64_t payload_B) {
  account.line_rate_bps = sender.ports * sender.device->port().line_rate_bps;
  const double line_ps_per_B = 8e12 / static_cast<double>(account.line_rate_bps);
  nic::PcieTimes idle_ps{};
  const auto first = static_cast<std::size_t>(nic::Wait::kPcie);
  for (std::size_t i = 0; i < nic::kPcieLimits; ++i) idle_ps[i] = account.idle_ps[first + i];
  const nic::PcieFunction& reads = nic::DeviceControl(*sender.device).function_of(sender.qpn);
  const auto causes = pcie_causes(reads, idle_ps, line_ps_per_B, false);
  for (std::size_t i = 0; i < nic::kPcieLimits; ++i) account.idle_ps[first + i] = static_cast<Time_ps>(causes[i]);

  const Surroundings now = surroundings_of(receiver, losses);
  account.receiver_paused_ps = now.paused_ps - before.paused_ps;
  account.receiver_discards = now.discards - before.discards;
  account.lost = {now.lost.cable - before.lost.cable, now.lost.elsewhere - before.lost.elsewhere};
  const nic::PcieFunction& writes = nic::DeviceControl(*receiver.device).function_of(receiver.qpn);
  nic::PcieTimes write_times = now.write_times;
  for (std::size_t i = 0; i < nic::kPcieLimits && writes.path() != nullptr; ++i)
    write_times[i] -= before.write_times[i];
  // What the line itself takes is no wait: the card's link comes first.
  auto line_ps = static_cast<Time_ps>(line_ps_per_B * static_cast<double>(payload_B));
  for (std::size_t i = 0; i < nic::kPcieLimits && writes.path() != nullptr; ++i) {
    const Time_ps part_ps = std::min(line_ps, write_times[i]);
    write_times[i] -= part_ps;
    line_ps -= part_ps;
  }
  account.receiver_waits = pcie_causes(writes, write_times, line_ps_per_B, true);
}

FlowAccount::FlowAccount(const AccountEnd& sender, const AccountEnd& receiver, const CountLosses& losses)
    : sender_{&sender.device->owner_of(sender.qpn), sender.qpn},
      receiver_(receiver),
      before_(sender_.device->counters()),
      around_(surroundings_of(receiver, losses)) {
  const nic::Requester& requester = sender.device->qp(sender.qpn).req;
  const Time_ps ready_ps = requester.wqes[requester.head & requester.mask].ready_ps;
  const Time_ps idle_ps = std::max(nic::DeviceControl(*sender_.device).idle_since_ps(), before_.idle_from_ps);
  idle_before_ps_ = std::max<Time_ps>(0, ready_ps - idle_ps);
}

void FlowAccount::end(const CountLosses& losses, Time_ps elapsed_ps, std::uint64_t payload_B) {
  account_ = account_between(before_, sender_.device->counters());
  account_.resent_packets = sender_.device->qp(sender_.qpn).retransmitted_packets;  // those of others are other traffic
  account_.elapsed_ps = elapsed_ps;
  account_.payload_B = payload_B;
  // Most often for the flow's own first post; otherwise for what another one waited for.
  for (Time_ps& idle_ps : account_.idle_ps) {
    const Time_ps part_ps = std::min(idle_ps, idle_before_ps_);
    idle_ps -= part_ps;
    idle_before_ps_ -= part_ps;
  }
  add_surroundings(account_, sender_, receiver_, around_, losses, payload_B);
}

PortAccount account_between(const nic::Counters& before, const nic::Counters& after) {
  PortAccount account;
  const nic::Counters::Traffic then = before.tx(), now = after.tx();
  account.line_B = now.bytes - then.bytes + (now.packets - then.packets) * fabric::kLineOverhead_B;
  account.resent_packets = after.retransmitted_packets - before.retransmitted_packets;
  for (std::size_t i = 0; i < nic::kWaits; ++i) account.idle_ps[i] = after.idle_ps[i] - before.idle_ps[i];
  return account;
}

std::array<double, nic::kPcieLimits> pcie_causes(const nic::PcieFunction& function, const nic::PcieTimes& times,
                                                 double line_ps_per_B, bool writes) {
  std::array<double, nic::kPcieLimits> out{};
  for (std::size_t limit = 0; limit < times.size(); ++limit) {
    const auto time_ps = static_cast<double>(times[limit]);
    if (function.path() == nullptr) {
      out[limit] += time_ps;
      continue;
    }
    const auto shares = function.path()->causes_of(static_cast<nic::PcieLimit>(limit), line_ps_per_B, writes);
    for (std::size_t i = 0; i < shares.size(); ++i) out[i] += shares[i] * time_ps;
  }
  return out;
}

}  // namespace weft::workload
