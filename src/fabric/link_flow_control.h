// Flow control between the two ports of a link, one object for each direction and the same for switches and NICs:
// TransmitControl is what the peer lets this port send, ReceiveControl what this port lets its peer send. Two kinds:
// PFC (802.1Qbb 36) and the pause of a whole link (802.3 31B). Units: classes are bits of a mask, times are simulated.
// Called for control frames, their timers and crossed thresholds, not for each packet: for that a node keeps a copy of
// blocked() and held(). Another kind (credits of a lane) is another enumerator of FlowControl, its cases in
// link_flow_control.cc, and a frame; link-level retry would sit below, in LinkDirection.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "engine/packet_format.h"
#include "spec/port_flow_control.h"

namespace weft::fabric {

inline constexpr std::size_t kPauseClasses = 8;
inline constexpr std::uint8_t kAllClasses = 0xff;

// What a pause frame asks for.
struct PauseRequest {
  std::uint8_t xoff = 0;  // classes stopped for `quanta` times 512 bits
  std::uint8_t xon = 0;   // classes released: zero quanta
  std::uint16_t quanta = 0;

  bool is_empty() const { return (xoff | xon) == 0; }
  std::uint32_t word() const { return std::uint32_t{quanta} << 16 | std::uint32_t{xon} << 8 | xoff; }
  static PauseRequest of(std::uint32_t word) {
    return {static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(word >> 8),
            static_cast<std::uint16_t>(word >> 16)};
  }
  static PauseRequest of(const engine::Packet& packet) { return of(packet.aux); }
};
// The frame as a record: transport kLinkControl, `word` the kind, `aux` the request.
engine::Packet pause_packet(FlowControl kind, PauseRequest request, std::uint32_t port_id);
inline FlowControl kind_of(const engine::Packet& packet) {
  return static_cast<FlowControl>(packet.word);
}
extern const engine::PacketFormat kLinkControlFormat;

// 802.3 31B: the time of 512 bits.
constexpr Time_ps pause_quantum_ps(Time_ps ps_per_byte) {
  return 64 * ps_per_byte;
}

// What the peer lets this port send: which classes may not start a frame, until when, and what was received. A pause
// ends by zero quanta, by expiry, when the link goes down, or by the watchdog.
class TransmitControl {
 public:
  TransmitControl() = default;
  // `classes` listen to PFC; a pause of the whole link stops all.
  TransmitControl(FlowControl kind, std::uint8_t classes, Time_ps ps_per_byte);

  std::uint8_t blocked() const { return blocked_; }
  void receive(PauseRequest request, Time_ps now_ps);
  // Classes whose time is over are free again.
  void expire(Time_ps now_ps);
  void release_all(Time_ps now_ps);
  // The others are free from now on.
  void listen_to(std::uint8_t classes, Time_ps now_ps);
  Time_ps next_expiry_ps() const { return expiry_ps_; }

  std::uint64_t frames(std::size_t c) const { return frames_[c]; }  // received, XOFF and XON
  std::uint64_t transitions(std::size_t c) const { return transitions_[c]; }
  Time_ps total_ps(std::size_t c, Time_ps now_ps) const {
    return total_ps_[c] + ((blocked_ >> c & 1) != 0 ? now_ps - since_ps_[c] : 0);
  }

 private:
  void release(std::size_t c, Time_ps now_ps);
  void plan();

  std::uint8_t blocked_ = 0;
  std::uint8_t listens_ = 0;
  Time_ps quantum_ps_ = 0;
  Time_ps expiry_ps_ = kNever_ps;
  std::array<Time_ps, kPauseClasses> until_ps_{};
  std::array<Time_ps, kPauseClasses> since_ps_{};
  std::array<Time_ps, kPauseClasses> total_ps_{};
  std::array<std::uint64_t, kPauseClasses> frames_{};
  std::array<std::uint64_t, kPauseClasses> transitions_{};
};

// When a pause that lasts is repeated: a clock that runs on from the first pause, as at a switch, or one that starts
// over with each pause, as at a NIC.
enum class RefreshClock : std::uint8_t { kRunsOn, kStartsOver };

// What this port lets its peer send: which of its receive buffers (priority groups of a switch, classes of a NIC) hold
// the peer, since when, and the frames that say so. The node sends what hold, release and refresh return, unless empty.
class ReceiveControl {
 public:
  ReceiveControl() = default;
  ReceiveControl(FlowControl kind, const std::array<std::uint8_t, kPauseClasses>& class_of_buffer, std::uint16_t quanta,
                 Time_ps ps_per_byte, RefreshClock clock);

  std::uint8_t held() const { return held_; }  // buffers
  // Of the pauses from now on; none holds the peer.
  void set_kind(FlowControl kind) { kind_ = kind; }
  PauseRequest hold(std::uint8_t buffers, Time_ps now_ps);
  PauseRequest release(std::uint8_t buffers, Time_ps now_ps);
  // Without a frame: the link is down.
  void forget(std::uint8_t buffers, Time_ps now_ps);
  // Due at refresh_ps(): well before the peer's timer runs out.
  Time_ps refresh_ps() const { return refresh_ps_; }
  Time_ps refresh_interval_ps() const { return interval_ps_; }
  PauseRequest refresh(Time_ps now_ps);

  // By class: frames with it, pauses begun, and how long it was stopped in pauses that are over or still last.
  void count_sent(PauseRequest request);
  std::uint64_t frames(std::size_t c) const { return frames_[c]; }
  std::uint64_t pauses(std::size_t c) const { return pauses_[c]; }
  Time_ps ended_ps(std::size_t c) const { return ended_ps_[c]; }
  Time_ps total_ps(std::size_t c, Time_ps now_ps) const;

 private:
  std::uint8_t classes_of(std::uint8_t buffers) const;

  std::uint8_t held_ = 0;
  FlowControl kind_ = FlowControl::kNone;
  RefreshClock clock_ = RefreshClock::kRunsOn;
  std::uint16_t quanta_ = 0;
  std::array<std::uint8_t, kPauseClasses> class_of_{};
  Time_ps interval_ps_ = 0;
  Time_ps refresh_ps_ = kNever_ps;
  std::array<Time_ps, kPauseClasses> since_ps_{};  // by buffer
  std::array<Time_ps, kPauseClasses> ended_ps_{};
  std::array<std::uint64_t, kPauseClasses> frames_{};
  std::array<std::uint64_t, kPauseClasses> pauses_{};
};

}  // namespace weft::fabric
