// A packet arrives at the port: MAC, receive buffer and ICRC first, then the queue pair it names.
#include "nic/device.h"
#include "nic/ip_datagram.h"
#include "nic/pcie_path.h"
#include "nic/roce_packet.h"
#include "nic/transport.h"

namespace weft::nic {

using engine::Packet;
using fabric::Fate;

namespace {
constexpr std::uint64_t kEcnCe = 3;

// Half to one and a half times of the mean.
Time_ps slow_ps(Time_ps mean_ps, RandomStream& random) {
  return mean_ps / 2 + static_cast<Time_ps>(random.below(static_cast<std::uint64_t>(mean_ps) + 1));
}

void count_load(ReceiveLoad& load, const Counters& counters, const NicModel& model, const Packet& packet,
                Time_ps now_ps) {
  std::uint64_t sent_B = 0;
  for (const Counters::PriorityTraffic& priority : counters.priorities)
    sent_B += priority.tx.bytes + priority.tx.packets * fabric::kLineOverhead_B;
  load.count(model, fabric::line_B(packet), sent_B, now_ps);
}
}  // namespace

std::span<const std::uint8_t> Device::payload_of(const Packet& packet) {
  if ((packet.flags & Packet::kHasCold) == 0) return {};
  engine::Domain& domain = in_.destination();
  std::uint32_t slot = domain.cold[packet.aux].payload;
  if (slot == engine::kNoSlot) return {};
  return std::span(domain.payload[slot]).first(packet.payload_B);
}

void Device::end(const Packet& packet, Fate fate) {
  in_.received.count(fate);
  if (packet.flags & Packet::kHasCold) in_.destination().free_cold(packet.aux);
}

// Payload that PCIe cannot take yet waits in the receive buffer. False: it is full.
[[gnu::always_inline]] inline bool Device::has_buffer_now(const QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  if (packet.payload_B == 0) return true;
  PcieFunction& function = functions_[qp.function];
  if (slow_receiver_) [[unlikely]] {
    if (config_.slow_ps_per_byte > 0) slow_down(now_ps);
    if (config_.model.rx_sustained_bps > 0) {
      count_load(load_, counters, config_.model, packet, now_ps);
      if (load_.is_due()) load_.begin(slow_ps(config_.model.rx_slow_ps, recovery_), now_ps);
      if (load_.is_slow(now_ps)) return has_buffer_slowly(qp, packet, now_ps);
    }
  }
  const Time_ps backlog_ps =
      function.path() == nullptr ? function.write_backlog_ps(now_ps) : pending_ps(card_.functions, now_ps);
  if (backlog_ps <= rx_xoff_ps_) [[likely]]
    return true;
  hold_peer(packet, now_ps);
  if (backlog_ps <= rx_buffer_ps_) return true;
  ++counters.rx_discards_phy;
  return false;
}

// Little leaves the receive buffer: what is placed goes to memory when that is over.
bool Device::has_buffer_slowly(const QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  const bool fits = load_.fill(config_.model, packet.payload_B, now_ps);
  if (load_.filled_B() > config_.model.rx_pause_xoff_B) hold_peer(packet, now_ps);
  if (fits) {
    functions_[qp.function].hold_writes(now_ps + load_.wait_ps(config_.model, now_ps));
  } else {
    ++counters.rx_discards_phy;
  }
  return fits;
}

bool Device::has_buffer(const QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  return has_buffer_now(qp, packet, now_ps);
}

// MAC, receive buffer and counters are those of the port that the packet came by; the answer leaves by the owner.
[[gnu::always_inline]] inline void Device::deliver(Device& owner, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  if (!has_buffer_now(qp, packet, now_ps)) [[unlikely]] {
    end(packet, Fate::kRxBufferFull);
    return;
  }
  Counters::Traffic& traffic = counters.priorities[class_received(packet)].rx;
  ++traffic.packets;
  traffic.bytes += fabric::line_B(packet) - fabric::kLineOverhead_B;
  if ((packet.tos & kEcnCe) == kEcnCe && packet.transport != kIpNumber) owner.note_ce(qp, packet, now_ps);
  const Transport& transport = *qp.transport;
  if (transport.connected && packet.src != qp.packet.dst) [[unlikely]] {
    // A connection has one peer (IBTA vol 1, 9.6.1.5). Before RTR it has none.
    end(packet, qp.state >= QpState::kRtr ? Fate::kWrongSource : Fate::kUnknownQp);
  } else if (packet.transport == transport.number) [[likely]] {
    end(packet, transport.receive(owner, qp, packet, now_ps));
  } else if (transport.connected && packet.transport == kCnpNumber) {
    bool live = (qp.flags & QueuePair::kLive) != 0;
    if (live) owner.receive_cnp(qp, now_ps);
    end(packet, live ? Fate::kAccepted : Fate::kUnknownQp);
  } else {
    end(packet, Fate::kUnknownQp);
  }
}

void Device::receive_packet(Packet& packet, Time_ps now_ps) {
  if (packet.flags & (Packet::kBadFcs | Packet::kBadIcrc)) [[unlikely]] {
    bool fcs = (packet.flags & Packet::kBadFcs) != 0;
    ++(fcs ? counters.rx_crc_errors_phy : counters.rx_icrc_encapsulated);
    end(packet, fcs ? Fate::kFcsError : Fate::kIcrcError);
    return;
  }
  QueuePair* qp = find_qp(packet.endpoint);
  if (qp == nullptr) [[unlikely]] {
    receive_for_other(packet, now_ps);
    return;
  }
  last_receiver_ = qp->qpn - first_qpn_;
  deliver(*this, *qp, packet, now_ps);
}

// To no queue pair of this port: to the general services, to a group, or to a queue pair of the bond's other port.
[[gnu::noinline]] void Device::receive_for_other(Packet& packet, Time_ps now_ps) {
  const bool is_general = packet.endpoint == kGeneralServicesQpn;
  const std::uint32_t qpn = is_general ? shared_.general_services_qpn : static_cast<std::uint32_t>(packet.endpoint);
  Device& owner = owner_of(qpn);
  if (QueuePair* qp = owner.find_qp(qpn)) {
    deliver(owner, *qp, packet, now_ps);
  } else if (packet.endpoint == kMulticastQpn && packet.transport == kUdNumber) {
    MulticastPort::receive(*this, packet, now_ps);
  } else {
    end(packet, Fate::kUnknownQp);
  }
}

}  // namespace weft::nic
