// What can stand around a link direction: a tap at the sending port, the faults on the cable, a tap at
// the receiving port, in this order. Only wrapped links pay for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/domain.h"
#include "engine/packet.h"
#include "fabric/fault_injector.h"

namespace weft::fabric {

// One frame at a port: `from` and `to` are the ports at the ends of the cable that it is on.
struct TapFrame {
  const engine::Packet& packet;
  const engine::Domain& domain;  // of its cold side
  std::uint32_t from, to;
  Time_ps time_ps;  // of the first bit at the port
  bool outbound;
  std::string_view comment;
};
struct Tap {
  void* self = nullptr;
  void (*frame)(void* self, const TapFrame& frame) = nullptr;
};

class LinkDirection;

class LinkWrapper {
 public:
  LinkWrapper(std::vector<FaultRule> rules, std::uint64_t seed, std::uint32_t from, std::uint32_t to,
              double bit_error_rate)
      : faults_(std::move(rules), seed, from, bit_error_rate), from_(from), to_(to) {}

  void set_send_tap(Tap tap) { send_tap_ = tap; }
  void set_receive_tap(Tap tap) { receive_tap_ = tap; }
  void set_send_mirror(Tap tap) { send_mirror_ = tap; }
  void set_receive_mirror(Tap tap) { receive_mirror_ = tap; }

  void send(LinkDirection& link, engine::Packet packet, Time_ps start_ps);
  void send_pause(LinkDirection& link, const engine::Packet& packet, Time_ps start_ps);
  void arrive(LinkDirection& link, const engine::Packet& packet);
  // Earliest visit that a delayed packet needs, and what a visit at `now_ps` does.
  Time_ps next_release_ps(const LinkDirection& link) const;
  void release(LinkDirection& link, Time_ps now_ps);
  std::size_t waiting() const { return delayed_.size(); }
  const FaultInjector& faults() const { return faults_; }

 private:
  struct Delayed {
    Time_ps due_ps;
    std::uint64_t order;
    engine::Packet packet;
    // A heap on (due, order): the earliest first.
    friend bool operator<(const Delayed& a, const Delayed& b) {
      return a.due_ps != b.due_ps ? a.due_ps > b.due_ps : a.order > b.order;
    }
  };
  static void show(const Tap& tap, const TapFrame& frame) {
    if (tap.frame != nullptr) tap.frame(tap.self, frame);
  }
  void hold(const engine::Packet& packet);
  // Everything due at or before `time_ps` enters the link, which must stay sorted.
  void flush(LinkDirection& link, Time_ps time_ps);

  FaultInjector faults_;
  std::uint32_t from_, to_;           // port ids
  Tap send_tap_, receive_tap_;        // captures of the port
  Tap send_mirror_, receive_mirror_;  // mirror sessions of the switch
  std::vector<Delayed> delayed_;
  std::uint64_t next_order_ = 0;
};

}  // namespace weft::fabric
