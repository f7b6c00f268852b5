// Packets to another function of the NIC that sends them, or to the same one, turn round in its embedded switch and
// never see the cable: two programs of one host, or two virtual machines, that talk through its NIC. They take the
// transmitter's turn and no time of MAC, cable or switch; counters of the port and captures do not see them.
//
// The embedded switch carries `internal_rate` of frames, those from the cable included, which it takes first: what
// turns round has the rest (docs/mechanisms/host.md). A card without that number turns packets round at its line rate.
#include "nic/loopback.h"

#include "base/check.h"
#include "nic/port.h"
#include "nic/receive.h"
#include "spec/work.h"

namespace weft::nic {

void loop_back(Port& port, const engine::Packet& packet, std::uint32_t line_bytes, Time_ps now_ps) {
  if (packet.endpoint == kMulticastQpn) {
    MulticastPort::send(port, packet, line_bytes, now_ps);
    return;
  }
  if (port.config.model.internal_rate_bps == 0) {
    port.schedule.occupy(now_ps + line_bytes * port.schedule.wire().timing().ps_per_byte);
  } else {
    std::uint64_t wire_B = 0;
    for (const auto& priority : port.counters.priorities) wire_B += priority.rx.bytes;
    WEFT_CHECK(wire_B >= port.looped.wire_B, "the bytes from the cable become fewer");
    const Time_ps ps_per_byte = 8 * kSecond_ps / port.config.model.internal_rate_bps;
    const Time_ps wire_ps = static_cast<Time_ps>(wire_B - port.looped.wire_B) * ps_per_byte;
    port.looped.wire_B = wire_B;
    port.looped.busy_until_ps = std::max(port.looped.busy_until_ps + wire_ps, now_ps) +
                                static_cast<Time_ps>(line_bytes - fabric::kLineOverhead_B) * ps_per_byte;
    port.schedule.occupy(port.looped.busy_until_ps);
  }
  port.looped.packets.push_back(packet);
  port.schedule.add_timer(kLoopContext, port.schedule.free_ps());
}

void receive_looped(Port& port, Time_ps now_ps) {
  WEFT_CHECK(!port.looped.packets.empty(), "the turn of a packet that was not sent");
  engine::Packet packet = port.looped.packets.front();
  port.looped.packets.pop_front();
  // Not counted by the link's counters.
  const auto received = port.in.received;
  auto& counted = port.counters.priorities[port.classes.received(packet)].rx;
  const auto traffic = counted;
  receive_packet(port, packet, now_ps);
  port.in.received = received;
  counted = traffic;
}

}  // namespace weft::nic
