// A packet arrives at the port: MAC, receive buffer and ICRC first, then the queue pair it names.
#include "nic/device.h"
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

Time_ps Device::run_until(Time_ps end_ps, const Time_ps* programs_ps) {
  for (;;) {
    Time_ps arrival_ps = arrivals_.next_ps();
    Time_ps now_ps = std::min(service_ps_, arrival_ps);
    Time_ps other_ps = rare_ps();
    Time_ps next_ps = std::min(now_ps, other_ps);
    if (next_ps >= end_ps || next_ps > *programs_ps) return next_ps;
    ++events_;
    if (other_ps <= now_ps) [[unlikely]] {
      // A release comes before everything at its instant, a timer after everything.
      bool release = release_ps_ == other_ps;
      if (release || other_ps < now_ps) {
        last_event_ps_ = other_ps;
        if (release) {
          out_.release(other_ps);
          release_ps_ = out_.next_release_ps();
        } else if (pause_due_ps_ == other_ps) {
          on_pause_due(other_ps);
        } else {
          on_timer(other_ps);
        }
        continue;
      }
    }
    last_event_ps_ = now_ps;
    if (service_ps_ <= arrival_ps && !(service_ps_ == arrival_ps && arrivals_.pause_is_next())) {
      serve(now_ps);
    } else {
      receive(now_ps);
    }
  }
}

inline void Device::receive(Time_ps now_ps) {
  Packet packet = arrivals_.front();
  arrivals_.pop();
  if (arrivals_.tapped) [[unlikely]]
    in_.tap(packet);
  if (packet.transport == engine::kLinkControl) [[unlikely]] {
    receive_pause(packet, now_ps);
    return;
  }
  receive_packet(packet, now_ps);
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
    end(packet, Fate::kUnknownQp);
    return;
  }
  last_receiver_ = qp->qpn - kFirstQpn;
  // Payload that PCIe cannot take yet waits in the receive buffer.
  if (packet.payload_B > 0) {
    PcieFunction& function = functions_[qp->function];
    if (slow_receiver_) [[unlikely]]
      slow_down(now_ps);
    Time_ps backlog_ps = function.write_backlog_ps(now_ps);
    if (backlog_ps > rx_xoff_ps_) [[unlikely]] {
      hold_peer(packet, now_ps);
      if (backlog_ps > rx_buffer_ps_) {
        ++counters.rx_discards_phy;
        end(packet, Fate::kRxBufferFull);
        return;
      }
    }
  }
  Counters::Traffic& traffic = counters.priorities[class_received(packet)].rx;
  ++traffic.packets;
  traffic.bytes += fabric::line_B(packet) - fabric::kLineOverhead_B;
  if ((packet.tos & kEcnCe) == kEcnCe) note_ce(*qp, packet, now_ps);
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
