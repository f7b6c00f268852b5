#include "fabric/link_flow_control.h"

#include <algorithm>

#include "base/check.h"
#include "wire/pfc.h"

namespace weft::fabric {

using engine::Packet;

namespace {

constexpr std::uint8_t bit(std::size_t c) {
  return static_cast<std::uint8_t>(1u << c);
}

engine::PacketDescription describe(const Packet&) {
  return {};
}

std::size_t frame(const Packet& packet, const engine::Cold&, std::span<const std::uint8_t>,
                  const engine::FrameAddresses& addresses, std::span<std::uint8_t> out) {
  PauseRequest request = PauseRequest::of(packet);
  std::array<std::uint8_t, wire::kPauseFrame_B> bytes{};
  if (kind_of(packet) == FlowControl::kPause) {
    wire::Pause pause;
    pause.src = addresses.src_mac;
    pause.quanta = request.quanta;
    bytes = wire::build_pause_frame(pause);
  } else {
    wire::Pfc pfc;
    pfc.src = addresses.src_mac;
    pfc.class_enable = static_cast<std::uint8_t>(request.xoff | request.xon);
    for (std::size_t c = 0; c < pfc.quanta.size(); ++c) pfc.quanta[c] = (request.xoff & bit(c)) ? request.quanta : 0;
    bytes = wire::build_pfc_frame(pfc);
  }
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return bytes.size();
}

}  // namespace

const engine::PacketFormat kLinkControlFormat = {"link control", &describe, &frame};

Packet pause_packet(FlowControl kind, PauseRequest request, std::uint32_t port_id) {
  Packet packet;
  packet.src = port_id & engine::kPortMask;
  packet.transport = engine::kLinkControl;
  packet.word = static_cast<std::uint32_t>(kind);
  packet.aux = request.word();
  return packet;
}

TransmitControl::TransmitControl(FlowControl kind, std::uint8_t classes, Time_ps ps_per_byte)
    : quantum_ps_(pause_quantum_ps(ps_per_byte)) {
  if (kind == FlowControl::kPfc) listens_ = classes;
  if (kind == FlowControl::kPause) listens_ = kAllClasses;
}

void TransmitControl::receive(PauseRequest request, Time_ps now_ps) {
  for (std::size_t c = 0; c < kPauseClasses; ++c) {
    if (request.xoff & bit(c)) ++frames_[c];
    if (request.xon & bit(c)) ++frames_[c];
    if ((listens_ & bit(c)) == 0) continue;
    if (request.xoff & bit(c)) {
      if ((blocked_ & bit(c)) == 0) {
        since_ps_[c] = now_ps;
        ++transitions_[c];
      }
      blocked_ |= bit(c);
      until_ps_[c] = now_ps + request.quanta * quantum_ps_;
    }
    if (request.xon & bit(c)) release(c, now_ps);
  }
  plan();
}

void TransmitControl::expire(Time_ps now_ps) {
  for (std::size_t c = 0; c < kPauseClasses; ++c) {
    if (until_ps_[c] <= now_ps) release(c, now_ps);
  }
  plan();
  WEFT_CHECK(expiry_ps_ > now_ps, "what has expired is free");
}

void TransmitControl::release_all(Time_ps now_ps) {
  for (std::size_t c = 0; c < kPauseClasses; ++c) release(c, now_ps);
  plan();
}

void TransmitControl::listen_to(std::uint8_t classes, Time_ps now_ps) {
  listens_ = classes;
  for (std::size_t c = 0; c < kPauseClasses; ++c) {
    if ((classes & bit(c)) == 0) release(c, now_ps);
  }
  plan();
}

void TransmitControl::release(std::size_t c, Time_ps now_ps) {
  if ((blocked_ & bit(c)) == 0) return;
  blocked_ = static_cast<std::uint8_t>(blocked_ & ~bit(c));
  WEFT_CHECK(now_ps >= since_ps_[c], "a pause ends after it began");
  total_ps_[c] += now_ps - since_ps_[c];
}

void TransmitControl::plan() {
  expiry_ps_ = kNever_ps;
  for (std::size_t c = 0; c < kPauseClasses; ++c) {
    if (blocked_ & bit(c)) expiry_ps_ = std::min(expiry_ps_, until_ps_[c]);
  }
}

ReceiveControl::ReceiveControl(FlowControl kind, const std::array<std::uint8_t, kPauseClasses>& class_of_buffer,
                               std::uint16_t quanta, Time_ps ps_per_byte, RefreshClock clock)
    : kind_(kind),
      clock_(clock),
      quanta_(quanta),
      class_of_(class_of_buffer),
      interval_ps_(quanta * pause_quantum_ps(ps_per_byte) / 2) {}

std::uint8_t ReceiveControl::classes_of(std::uint8_t buffers) const {
  if (kind_ == FlowControl::kPause) return buffers == 0 ? 0 : kAllClasses;
  std::uint8_t classes = 0;
  for (std::size_t b = 0; b < kPauseClasses; ++b) {
    if (buffers & bit(b)) classes |= bit(class_of_[b]);
  }
  return classes;
}

PauseRequest ReceiveControl::hold(std::uint8_t buffers, Time_ps now_ps) {
  auto fresh = static_cast<std::uint8_t>(buffers & ~held_);
  if (fresh == 0 || kind_ == FlowControl::kNone) return {};
  WEFT_CHECK(interval_ps_ > 0, "a pause lasts, so that it need not be repeated at once");
  for (std::size_t b = 0; b < kPauseClasses; ++b) {
    if ((fresh & bit(b)) == 0) continue;
    since_ps_[b] = now_ps;
    ++pauses_[class_of_[b]];
  }
  held_ |= fresh;
  if (refresh_ps_ == kNever_ps) refresh_ps_ = now_ps + interval_ps_;
  return {classes_of(fresh), 0, quanta_};
}

void ReceiveControl::forget(std::uint8_t buffers, Time_ps now_ps) {
  for (std::size_t b = 0; b < kPauseClasses; ++b) {
    if ((held_ & buffers & bit(b)) == 0) continue;
    WEFT_CHECK(now_ps >= since_ps_[b], "a pause ends after it began");
    ended_ps_[class_of_[b]] += now_ps - since_ps_[b];
  }
  held_ = static_cast<std::uint8_t>(held_ & ~buffers);
  if (held_ == 0 && clock_ == RefreshClock::kStartsOver) refresh_ps_ = kNever_ps;
}

PauseRequest ReceiveControl::release(std::uint8_t buffers, Time_ps now_ps) {
  auto released = static_cast<std::uint8_t>(held_ & buffers);
  forget(released, now_ps);
  // A pause of the whole link ends only when nothing holds it any more.
  if (kind_ == FlowControl::kPause && held_ != 0) return {};
  return {0, classes_of(released), 0};
}

PauseRequest ReceiveControl::refresh(Time_ps now_ps) {
  refresh_ps_ = held_ == 0 ? kNever_ps : now_ps + interval_ps_;
  return {classes_of(held_), 0, quanta_};
}

void ReceiveControl::count_sent(PauseRequest request) {
  for (std::size_t c = 0; c < kPauseClasses; ++c) {
    if ((request.xoff | request.xon) & bit(c)) ++frames_[c];
  }
}

Time_ps ReceiveControl::total_ps(std::size_t c, Time_ps now_ps) const {
  Time_ps time_ps = ended_ps_[c];
  for (std::size_t b = 0; b < kPauseClasses; ++b) {
    if ((held_ & bit(b)) != 0 && class_of_[b] == c) time_ps += now_ps - since_ps_[b];
  }
  return time_ps;
}

}  // namespace weft::fabric
