// Packets to the port that sends them turn round inside the NIC and never see the cable: two programs of one host that
// talk through its NIC. They take the port's turn and its line rate, and no time of MAC, cable or switch; counters of
// the port and captures do not see them.
#include "nic/device.h"
#include "nic/work.h"

namespace weft::nic {

void Device::loop_back(const engine::Packet& packet, std::uint32_t line_bytes, Time_ps now_ps) {
  if (packet.endpoint == kMulticastQpn) {
    MulticastPort::send(*this, packet, line_bytes, now_ps);
    return;
  }
  free_ps_ = now_ps + line_bytes * out_.timing().ps_per_byte;
  looped_.push_back(packet);
  timers_.push(free_ps_, kLoopContext);
}

void Device::receive_looped(Time_ps now_ps) {
  engine::Packet packet = looped_.front();
  looped_.pop_front();
  // Not counted by the link's counters.
  const auto received = in_.received;
  auto& counted = counters.priorities[class_received(packet)].rx;
  const auto traffic = counted;
  receive_packet(packet, now_ps);
  in_.received = received;
  counted = traffic;
}

}  // namespace weft::nic
