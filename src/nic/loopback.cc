// Packets to another function of the NIC that sends them, or to the same one, turn round in its embedded switch and
// never see the cable: two programs of one host, or two virtual machines, that talk through its NIC. They take the
// transmitter's turn and no time of MAC, cable or switch; counters of the port and captures do not see them.
//
// The embedded switch carries `internal_rate` of frames, those from the cable included, which it takes first: what
// turns round has the rest (docs/mechanisms/host.md). A card without that number turns packets round at its line rate.
#include "nic/device.h"
#include "nic/work.h"

namespace weft::nic {

void Device::loop_back(const engine::Packet& packet, std::uint32_t line_bytes, Time_ps now_ps) {
  if (packet.endpoint == kMulticastQpn) {
    MulticastPort::send(*this, packet, line_bytes, now_ps);
    return;
  }
  if (config_.model.internal_rate_bps == 0) {
    free_ps_ = now_ps + line_bytes * out_->timing().ps_per_byte;
  } else {
    std::uint64_t wire_B = 0;
    for (const auto& priority : counters.priorities) wire_B += priority.rx.bytes;
    const Time_ps ps_per_byte = 8 * kSecond_ps / config_.model.internal_rate_bps;
    const Time_ps wire_ps = static_cast<Time_ps>(wire_B - looped_.wire_B) * ps_per_byte;
    looped_.wire_B = wire_B;
    looped_.busy_until_ps = std::max(looped_.busy_until_ps + wire_ps, now_ps) +
                            static_cast<Time_ps>(line_bytes - fabric::kLineOverhead_B) * ps_per_byte;
    free_ps_ = looped_.busy_until_ps;
  }
  looped_.packets.push_back(packet);
  timers_.push(free_ps_, kLoopContext);
}

void Device::receive_looped(Time_ps now_ps) {
  engine::Packet packet = looped_.packets.front();
  looped_.packets.pop_front();
  // Not counted by the link's counters.
  const auto received = in_.received;
  auto& counted = counters.priorities[class_received(packet)].rx;
  const auto traffic = counted;
  receive_packet(packet, now_ps);
  in_.received = received;
  counted = traffic;
}

}  // namespace weft::nic
