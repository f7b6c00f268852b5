// What can stand around a link direction: taps at the sending port, an impairment of that port, the faults on the
// cable, taps at the receiving port. Only wrapped links pay for it. All of it may change while the world runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/domain.h"
#include "engine/packet.h"
#include "fabric/fault_injector.h"
#include "fabric/impairment.h"

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

  void add_send_tap(Tap tap) { send_taps_.push_back(tap); }
  void add_receive_tap(Tap tap) { receive_taps_.push_back(tap); }
  void remove_taps(const void* self);
  // Without a signal every frame is lost.
  void set_carrier(bool up) { carrier_ = up; }
  // Frames that are held back stay so; nothing: the port is not impaired any more.
  void impair(const std::optional<Impairment>& impairment, std::uint64_t seed);
  const Impairer* impairer() const { return impairer_ ? &*impairer_ : nullptr; }

  void send(LinkDirection& link, engine::Packet packet, Time_ps start_ps);
  void send_pause(LinkDirection& link, const engine::Packet& packet, Time_ps start_ps);
  void arrive(LinkDirection& link, const engine::Packet& packet);
  // Earliest visit that a delayed packet needs, and what a visit at `now_ps` does.
  Time_ps next_release_ps(const LinkDirection& link) const;
  void release(LinkDirection& link, Time_ps now_ps);
  std::size_t waiting() const { return delayed_.size(); }
  FaultInjector& faults() { return faults_; }
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
  static void show(const std::vector<Tap>& taps, const TapFrame& frame) {
    for (const Tap& tap : taps) tap.frame(tap.self, frame);
  }
  void hold(const engine::Packet& packet);
  // Everything due at or before `time_ps` enters the link, which must stay sorted.
  void flush(LinkDirection& link, Time_ps time_ps);

  FaultInjector faults_;
  std::optional<Impairer> impairer_;
  std::uint64_t impairments_ = 0;  // so far: each has random numbers of its own
  bool carrier_ = true;
  std::uint32_t from_, to_;  // port ids
  std::vector<Tap> send_taps_, receive_taps_;
  std::vector<Delayed> delayed_;
  std::uint64_t next_order_ = 0;
};

}  // namespace weft::fabric
