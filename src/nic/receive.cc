#include "nic/receive.h"

#include "base/check.h"
#include "nic/congestion/reaction_point.h"
#include "nic/device.h"
#include "nic/pcie/path.h"
#include "nic/transports/ip_datagram.h"
#include "nic/transports/transport.h"

namespace weft::nic {

using engine::Packet;
using fabric::Fate;

namespace {

constexpr std::uint64_t kEcnCe = 3;

// Little leaves the receive buffer: what is placed goes to memory when that is over.
bool has_buffer_slowly(Port& port, const QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  const bool fits = port.buffer.add_slowly(packet.payload_B, now_ps);
  if (port.buffer.is_slowly_above_xoff()) port.pauses.hold(port.classes.received(packet), now_ps);
  if (fits) {
    port.functions[qp.function].hold_writes(now_ps + port.buffer.wait_ps(now_ps));
  } else {
    ++port.counters.rx_discards_phy;
  }
  return fits;
}

[[gnu::always_inline]] inline bool has_buffer_now(Port& port, const QueuePair& qp, const Packet& packet,
                                                  Time_ps now_ps) {
  if (packet.payload_B == 0) return true;
  PcieFunction& function = port.functions[qp.function];
  if (port.buffer.is_slow() && port.buffer.count(packet, now_ps)) [[unlikely]]
    return has_buffer_slowly(port, qp, packet, now_ps);
  const Time_ps backlog_ps = port.buffer.backlog_ps(function, now_ps);
  if (!port.buffer.is_above_xoff(backlog_ps)) [[likely]]
    return true;
  port.pauses.hold(port.classes.received(packet), now_ps);
  if (port.buffer.has_room(backlog_ps)) return true;
  ++port.counters.rx_discards_phy;
  return false;
}

// MAC, receive buffer and counters are those of the port that the packet came by; the answer leaves by the owner.
[[gnu::always_inline]] inline void deliver(Port& port, Port& owner, QueuePair& qp, Packet& packet, Time_ps now_ps) {
  if (!has_buffer_now(port, qp, packet, now_ps)) [[unlikely]] {
    end_packet(port, packet, Fate::kRxBufferFull);
    return;
  }
  WEFT_DCHECK(port.classes.received(packet) < port.counters.priorities.size(), "a packet of no priority");
  Counters::Traffic& traffic = port.counters.priorities[port.classes.received(packet)].rx;
  ++traffic.packets;
  traffic.bytes += fabric::line_B(packet) - fabric::kLineOverhead_B;
  if ((packet.tos & kEcnCe) == kEcnCe && packet.transport != kIpNumber) note_ce(owner, qp, packet, now_ps);
  const Transport& transport = *qp.transport;
  if (transport.connected && packet.src != qp.packet.dst) [[unlikely]] {
    // A connection has one peer (IBTA vol 1, 9.6.1.5). Before RTR it has none.
    end_packet(port, packet, qp.state >= QpState::kRtr ? Fate::kWrongSource : Fate::kUnknownQp);
  } else if (packet.transport == transport.number) [[likely]] {
    end_packet(port, packet, transport.receive(owner, qp, packet, now_ps));
  } else if (transport.connected && packet.transport == kCnpNumber) {
    bool live = (qp.flags & QueuePair::kLive) != 0;
    if (live) receive_cnp(owner, qp, now_ps);
    end_packet(port, packet, live ? Fate::kAccepted : Fate::kUnknownQp);
  } else {
    end_packet(port, packet, Fate::kUnknownQp);
  }
}

// To no queue pair of this port: to the general services, to a group, or to a queue pair of the bond's other port.
[[gnu::noinline]] void receive_for_other(Port& port, Packet& packet, Time_ps now_ps) {
  const bool is_general = packet.endpoint == kGeneralServicesQpn;
  const std::uint32_t qpn = is_general ? port.shared.general_services_qpn : static_cast<std::uint32_t>(packet.endpoint);
  Port& owner = port.owner_of(qpn);
  if (QueuePair* qp = owner.qps.find(qpn)) {
    deliver(port, owner, *qp, packet, now_ps);
  } else if (packet.endpoint == kMulticastQpn && packet.transport == kUdNumber) {
    MulticastPort::receive(port, packet, now_ps);
  } else {
    end_packet(port, packet, Fate::kUnknownQp);
  }
}

}  // namespace

void end_packet(Port& port, const Packet& packet, Fate fate) {
  port.in.received.count(fate);
  if (packet.flags & Packet::kHasCold) port.in.destination().free_cold(packet.aux);
}

bool has_buffer(Port& port, const QueuePair& qp, const Packet& packet, Time_ps now_ps) {
  return has_buffer_now(port, qp, packet, now_ps);
}

void receive_packet(Port& port, Packet& packet, Time_ps now_ps) {
  if (packet.flags & (Packet::kBadFcs | Packet::kBadIcrc)) [[unlikely]] {
    bool fcs = (packet.flags & Packet::kBadFcs) != 0;
    ++(fcs ? port.counters.rx_crc_errors_phy : port.counters.rx_icrc_encapsulated);
    end_packet(port, packet, fcs ? Fate::kFcsError : Fate::kIcrcError);
    return;
  }
  QueuePair* qp = port.qps.find(packet.endpoint);
  if (qp == nullptr) [[unlikely]] {
    receive_for_other(port, packet, now_ps);
    return;
  }
  port.qps.received_by(*qp);
  deliver(port, port, *qp, packet, now_ps);
}

}  // namespace weft::nic
