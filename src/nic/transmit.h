// Transmitter of a port: a requester's turn, and packets that leave. Payload comes over PCIe first (fetch_payload); a
// packet takes its class, its cold side and its bytes, and put() sends it by the cable in use, or turns it round inside
// of the NIC (nic/loopback.h). Called by transports and by the loop of the port.
#pragma once

#include <cstdint>

#include "engine/packet.h"
#include "nic/loopback.h"
#include "nic/port.h"
#include "nic/transports/roce_packet.h"

namespace weft::nic {

inline void queue_request(Port& port, QueuePair& qp, Time_ps at_ps) {
  port.schedule.queue(qp.req.queued_ps, port.qps.context_of(qp), at_ps);
}
inline void queue_reply(Port& port, QueuePair& qp, Time_ps at_ps) {
  port.schedule.queue(qp.resp.queued_ps, port.qps.context_of(qp) + 1, at_ps);
}

// A requester has its turn. False: nothing was sent, and the queue pair is queued for when something can be, or
// whatever it waits for will queue it.
bool send_request(Port& port, QueuePair& qp, Time_ps now_ps);

// Payload comes over PCIe. False when it is not in the NIC yet: the QP is queued for when it is.
bool fetch_payload(Port& port, QueuePair& qp, std::uint32_t payload_B, Time_ps now_ps);
[[gnu::always_inline]] inline bool fetch_now(Port& port, QueuePair& qp, std::uint8_t function, std::uint32_t payload_B,
                                             Time_ps now_ps) {
  if (payload_B == 0) return true;
  PcieFunction& pcie = port.functions[function];
  Time_ps available_ps = pcie.read_available_ps(payload_B, now_ps);
  if (available_ps > now_ps) {
    qp.wait = pcie.read_wait();
    queue_request(port, qp, available_ps);
    return false;
  }
  pcie.take_read(available_ps);
  return true;
}

// A packet of a queue pair, with its transport header.
inline engine::Packet new_packet(const QueuePair& qp, wire::Opcode opcode, std::uint32_t psn) {
  engine::Packet packet = qp.packet;
  add_bth(packet, opcode, psn);
  return packet;
}
engine::Cold& add_cold(Port& port, engine::Packet& packet);
// Fills the cold side with the payload when somebody looks. False: the memory is gone.
bool add_payload(Port& port, engine::Packet& packet, std::uint32_t key, std::uint64_t va);
void drop_unsent(Port& port, const engine::Packet& packet);
// Common part of all packets of the queue pair.
void make_template(const Port& port, QueuePair& qp);
bool needs_router(const Port& port, std::uint32_t local_port, std::uint32_t remote_port);

// The packet leaves, `line_bytes` long on the line.
void put(Port& port, engine::Packet& packet, Time_ps now_ps);
[[gnu::always_inline]] inline void put_line(Port& port, engine::Packet& packet, std::uint32_t line_bytes,
                                            Time_ps now_ps) {
  if (packet.dst == packet.src) [[unlikely]] {
    loop_back(port, packet, line_bytes, now_ps);
    return;
  }
  fabric::LinkDirection& wire = port.schedule.wire();
  port.schedule.occupy(now_ps + wire.send(packet, line_bytes, now_ps));
  port.schedule.set_release(wire.next_release_ps());
  Counters::Traffic& traffic = port.counters.priorities[packet.priority].tx;
  ++traffic.packets;
  traffic.bytes += line_bytes - fabric::kLineOverhead_B;
}

}  // namespace weft::nic
