// One direction of a cable: rate, delay and framing. What wraps it (faults, taps) is reached through one
// pointer that is null on a plain link; the nodes at both ends do not know.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/time.h"
#include "engine/outlet.h"
#include "spec/ledger.h"
#include "spec/line_bytes.h"

namespace weft::fabric {

class LinkWrapper;

// 4-byte words of IPv6 and of a VLAN tag, for Packet::header_words.
constexpr std::uint8_t extra_words(bool v4, bool vlan) {
  return static_cast<std::uint8_t>((v4 ? 0 : 5) + (vlan ? 1 : 0));
}

inline std::uint32_t line_B(const engine::PacketBody& packet) {
  std::uint32_t size_B = kFraming_B + ((packet.payload_B + 3u) & ~3u) + 4u * packet.header_words;
  return std::max(size_B, kMinLine_B);
}

struct LinkTiming {
  Time_ps ps_per_byte = 0;
  Time_ps flight_ps = 0;            // first bit leaves the port -> first bit at the far port's NIC pipeline
  Time_ps pipeline_ps = 0;          // receive pipeline of the far node, folded into the link (DESIGN, the engine)
  Time_ps response_ps = 0;          // of the far node to a pause frame: last bit received -> no new frame starts
  std::uint32_t cut_through_B = 0;  // the far node handles a frame when so many bytes are in; 0: when all are
};

class alignas(64) LinkDirection {
  // What a send needs, in one cache line.
  engine::Outlet outlet_;
  LinkWrapper* wrapper_ = nullptr;
  Time_ps delay_ps_;  // flight and pipeline
  std::uint32_t ps_per_byte_;
  std::uint32_t cut_through_B_;

 public:
  Ledger sent;      // written by the sending node
  Ledger received;  // written by the receiving node

  // The end that belongs to another engine, and its domain, are missing.
  LinkDirection(engine::LinkEnds ends, engine::Domain* source, engine::Domain* destination, LinkTiming timing)
      : outlet_(ends.outlet),
        delay_ps_(timing.flight_ps + timing.pipeline_ps),
        ps_per_byte_(static_cast<std::uint32_t>(timing.ps_per_byte)),
        cut_through_B_(timing.cut_through_B == 0 ? UINT32_MAX : timing.cut_through_B),
        inlet_(ends.inlet),
        source_(source),
        destination_(destination),
        timing_(timing) {}

  Time_ps serialisation_ps(const engine::Packet& packet) const { return line_B(packet) * timing_.ps_per_byte; }
  // First bit at the far port -> the far node handles the frame.
  Time_ps handling_ps(std::uint32_t line_bytes) const {
    return Time_ps{std::min(line_bytes, cut_through_B_)} * ps_per_byte_ + timing_.pipeline_ps;
  }

  // The first bit of `packet`, which is `line_bytes` long on the line, leaves at `start_ps`; returns its serialisation
  // time.
  Time_ps send(engine::Packet& packet, std::uint32_t line_bytes, Time_ps start_ps) {
    WEFT_DCHECK(line_bytes >= kMinLine_B && start_ps >= 0, "a frame on a line");
    Time_ps length_ps = Time_ps{line_bytes} * ps_per_byte_;
    packet.time_ps = start_ps + delay_ps_ + Time_ps{std::min(line_bytes, cut_through_B_)} * ps_per_byte_;
    ++sent.sent;
    if (wrapper_ != nullptr) [[unlikely]] {
      send_wrapped(packet, start_ps);
    } else {
      outlet_.push(packet);
    }
    return length_ps;
  }

  // A pause frame: the far node acts on it after its response time, whatever data is in its pipeline.
  Time_ps send_pause(engine::Packet& packet, Time_ps start_ps) {
    Time_ps length_ps = kMinLine_B * timing_.ps_per_byte;
    packet.time_ps = start_ps + length_ps + timing_.flight_ps + timing_.response_ps;
    ++sent.sent;
    if (wrapper_ != nullptr) [[unlikely]] {
      send_pause_wrapped(packet, start_ps);
    } else {
      outlet_.push_pause(packet);
    }
    return length_ps;
  }

  // The receiving end.
  Time_ps next_arrival_ps() const { return inlet_->next_ps(); }
  bool pause_is_next() const { return inlet_->pause_is_next(); }
  engine::Packet take() {
    engine::Packet packet = inlet_->front();
    inlet_->pop();
    tap(packet);
    return packet;
  }

  // For a node that takes from the inlet itself.
  void tap(const engine::Packet& packet) {
    if (wrapper_ != nullptr) [[unlikely]]
      tap_arrival(packet);
  }

  // A delayed packet waits in the wrapper: the sending node is visited at this time to release it.
  Time_ps next_release_ps() const { return wrapper_ == nullptr ? kNever_ps : wrapped_release_ps(); }
  void release(Time_ps now_ps);

  // For a node that sends into the far inlet itself where there is one that is not `tapped`, and adds to `sent` at the
  // end: all others.
  void send_by_wrapper_or_mail(const engine::Packet& packet, Time_ps start_ps) {
    if (wrapper_ != nullptr) {
      send_wrapped(packet, start_ps);
    } else {
      outlet_.push(packet);
    }
  }

  std::uint64_t in_flight() const;
  const LinkTiming& timing() const { return timing_; }
  void wrap(LinkWrapper* wrapper) {
    wrapper_ = wrapper;
    if (inlet_ != nullptr) inlet_->tapped = wrapper != nullptr;
  }
  engine::Outlet& outlet() { return outlet_; }
  // Null when the receiver belongs to another engine.
  engine::Inlet* inlet() { return inlet_; }
  engine::Domain& source() { return *source_; }
  engine::Domain& destination() { return *destination_; }

 private:
  void send_wrapped(const engine::Packet& packet, Time_ps start_ps);
  void send_pause_wrapped(const engine::Packet& packet, Time_ps start_ps);
  void tap_arrival(const engine::Packet& packet);
  Time_ps wrapped_release_ps() const;

  engine::Inlet* inlet_;
  engine::Domain* source_;
  engine::Domain* destination_;
  LinkTiming timing_;
};

}  // namespace weft::fabric
