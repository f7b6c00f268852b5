// A packet arrives at the port: MAC, receive buffer and ICRC first, then the queue pair it names.
#include "nic/device.h"
#include "nic/ip_datagram.h"
#include "nic/roce_packet.h"
#include "nic/transport.h"

namespace weft::nic {

using engine::Packet;
using fabric::Fate;

namespace {
constexpr std::uint64_t kEcnCe = 3;
}

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
  if (slow_receiver_) [[unlikely]]
    slow_down(now_ps);
  Time_ps backlog_ps = function.write_backlog_ps(now_ps);
  if (backlog_ps <= rx_xoff_ps_) [[likely]]
    return true;
  hold_peer(packet, now_ps);
  if (backlog_ps <= rx_buffer_ps_) return true;
  ++counters.rx_discards_phy;
  return false;
}

bool Device::has_buffer(const QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  return has_buffer_now(qp, packet, now_ps);
}

void Device::receive_packet(Packet& packet, Time_ps now_ps) {
  if (packet.flags & (Packet::kBadFcs | Packet::kBadIcrc)) [[unlikely]] {
    bool fcs = (packet.flags & Packet::kBadFcs) != 0;
    ++(fcs ? counters.rx_crc_errors_phy : counters.rx_icrc_encapsulated);
    end(packet, fcs ? Fate::kFcsError : Fate::kIcrcError);
    return;
  }
  QueuePair* qp = find_qp(packet.endpoint);
  if (qp == nullptr && packet.endpoint == kGeneralServicesQpn) qp = find_qp(general_services_qpn_);
  if (qp == nullptr) {
    if (packet.endpoint == kMulticastQpn && packet.transport == kUdNumber) {
      MulticastPort::receive(*this, packet, now_ps);
    } else {
      end(packet, Fate::kUnknownQp);
    }
    return;
  }
  last_receiver_ = qp->qpn - kFirstQpn;
  if (!has_buffer_now(*qp, packet, now_ps)) [[unlikely]] {
    end(packet, Fate::kRxBufferFull);
    return;
  }
  Counters::Traffic& traffic = counters.priorities[class_received(packet)].rx;
  ++traffic.packets;
  traffic.bytes += fabric::line_B(packet) - fabric::kLineOverhead_B;
  if ((packet.tos & kEcnCe) == kEcnCe && packet.transport != kIpNumber) note_ce(*qp, packet, now_ps);
  const Transport& transport = *qp->transport;
  if (transport.connected && packet.src != qp->packet.dst) [[unlikely]] {
    // A connection has one peer (IBTA vol 1, 9.6.1.5). Before RTR it has none.
    end(packet, qp->state >= QpState::kRtr ? Fate::kWrongSource : Fate::kUnknownQp);
  } else if (packet.transport == transport.number) [[likely]] {
    end(packet, transport.receive(*this, *qp, packet, now_ps));
  } else if (transport.connected && packet.transport == kCnpNumber) {
    bool live = (qp->flags & QueuePair::kLive) != 0;
    if (live) receive_cnp(*qp, now_ps);
    end(packet, live ? Fate::kAccepted : Fate::kUnknownQp);
  } else {
    end(packet, Fate::kUnknownQp);
  }
}

}  // namespace weft::nic
