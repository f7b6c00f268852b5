// One direction of a cable: rate, delay and framing. What wraps it (faults, taps) is reached through one
// pointer that is null on a plain link; the nodes at both ends do not know.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "engine/channel.h"
#include "fabric/ledger.h"
#include "wire/opcode.h"

namespace weft::fabric {

class LinkWrapper;

// Bytes of line time that are not BTH, extension headers or payload: preamble 8, Ethernet 14, IP 20 or 40,
// UDP 8, ICRC 4, FCS 4, inter-frame gap 12 (+4 with a VLAN tag).
constexpr std::uint32_t framing_B(bool v4, bool vlan) {
  return 8 + 14 + (v4 ? 20 : 40) + 8 + 4 + 4 + 12 + (vlan ? 4 : 0);
}
inline constexpr std::uint32_t kMinLine_B = 84;       // 64-byte frame, preamble, gap
inline constexpr std::uint32_t kLineOverhead_B = 24;  // preamble, FCS, gap: line bytes that no capture shows

struct LinkTiming {
  Time_ps ps_per_byte = 0;
  Time_ps flight_ps = 0;    // first bit leaves the port -> first bit at the far port's NIC pipeline
  Time_ps pipeline_ps = 0;  // receive pipeline of the far node, folded into the link (DESIGN, the engine)
  std::uint32_t framing_B = 0;
};

class LinkDirection {
 public:
  LinkDirection(engine::Channel& channel, engine::Domain& source, engine::Domain& destination, LinkTiming timing)
      : channel_(channel), source_(source), destination_(destination), timing_(timing) {}

  std::uint32_t line_B(const engine::Packet& packet) const {
    std::uint32_t size_B = timing_.framing_B +
                           static_cast<std::uint32_t>(wire::header_size_B(static_cast<wire::Opcode>(packet.opcode))) +
                           ((packet.payload_B + 3u) & ~3u);
    return std::max(size_B, kMinLine_B);
  }
  Time_ps serialisation_ps(const engine::Packet& packet) const { return line_B(packet) * timing_.ps_per_byte; }

  // The first bit of `packet`, which is `line_B` long on the line, leaves at `start_ps`; returns its serialisation
  // time.
  Time_ps send(engine::Packet& packet, std::uint32_t line_bytes, Time_ps start_ps) {
    Time_ps length_ps = line_bytes * timing_.ps_per_byte;
    packet.time_ps = start_ps + length_ps + timing_.flight_ps + timing_.pipeline_ps;
    ++sent.sent;
    if (wrapper_ != nullptr) [[unlikely]] {
      send_wrapped(packet, start_ps);
    } else {
      channel_.push(packet);
    }
    return length_ps;
  }

  // The receiving end.
  Time_ps next_arrival_ps() const { return channel_.next_ps(); }
  engine::Packet take() {
    engine::Packet packet = channel_.front();
    channel_.pop();
    if (wrapper_ != nullptr) [[unlikely]]
      tap_arrival(packet);
    return packet;
  }

  // A delayed packet waits in the wrapper: the sending node is visited at this time to release it.
  Time_ps next_release_ps() const { return wrapper_ == nullptr ? kNever_ps : wrapped_release_ps(); }
  void release(Time_ps now_ps);

  std::uint64_t in_flight() const;
  const LinkTiming& timing() const { return timing_; }
  void wrap(LinkWrapper* wrapper) { wrapper_ = wrapper; }
  engine::Channel& channel() { return channel_; }
  engine::Domain& source() { return source_; }
  engine::Domain& destination() { return destination_; }

  Ledger sent;      // written by the sending node
  Ledger received;  // written by the receiving node

 private:
  void send_wrapped(const engine::Packet& packet, Time_ps start_ps);
  void tap_arrival(const engine::Packet& packet);
  Time_ps wrapped_release_ps() const;

  engine::Channel& channel_;
  engine::Domain& source_;
  engine::Domain& destination_;
  LinkTiming timing_;
  LinkWrapper* wrapper_ = nullptr;
};

}  // namespace weft::fabric
