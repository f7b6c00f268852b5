#include "wire/pfc.h"

#include <algorithm>

namespace weft::wire {
namespace {

// Through the last field that is read; padding may be missing in a capture that was cut.
constexpr std::size_t kPfcFields_B = 34;
constexpr std::size_t kPauseFields_B = 18;

void write_mac_control(const MacAddress& dst, const MacAddress& src, std::uint16_t opcode, MutableBytes out) {
  write_ethernet({dst, src, std::nullopt, kEtherTypeMacControl}, out);
  put_be16(out, 14, opcode);
}

bool is_mac_control(Bytes frame, std::uint16_t opcode) {
  return be16(frame, 12) == kEtherTypeMacControl && be16(frame, 14) == opcode;
}

}  // namespace

tl::expected<PfcView, WireError> PfcView::parse(Bytes frame) {
  if (frame.size() < kPfcFields_B) return tl::unexpected(WireError::kTruncated);
  if (!is_mac_control(frame, kMacControlPfc) || mac_at(frame, 0) != kPauseDestination) {
    return tl::unexpected(WireError::kNotMacControl);
  }
  return PfcView(frame.first(kPfcFields_B));
}

MacAddress PfcView::src() const {
  return mac_at(bytes_, 6);
}

Pfc PfcView::header() const {
  Pfc pfc{src(), class_enable(), {}};
  for (std::size_t priority = 0; priority < pfc.quanta.size(); ++priority) pfc.quanta[priority] = quanta(priority);
  return pfc;
}

tl::expected<PauseView, WireError> PauseView::parse(Bytes frame) {
  if (frame.size() < kPauseFields_B) return tl::unexpected(WireError::kTruncated);
  if (!is_mac_control(frame, kMacControlPause)) return tl::unexpected(WireError::kNotMacControl);
  return PauseView(frame.first(kPauseFields_B));
}

MacAddress PauseView::dst() const {
  return mac_at(bytes_, 0);
}
MacAddress PauseView::src() const {
  return mac_at(bytes_, 6);
}

std::array<std::uint8_t, kPauseFrame_B> build_pfc_frame(const Pfc& pfc) {
  std::array<std::uint8_t, kPauseFrame_B> frame{};
  write_mac_control(kPauseDestination, pfc.src, kMacControlPfc, frame);
  frame[17] = pfc.class_enable;
  for (std::size_t priority = 0; priority < pfc.quanta.size(); ++priority) {
    put_be16(frame, 18 + 2 * priority, pfc.quanta[priority]);
  }
  return frame;
}

std::array<std::uint8_t, kPauseFrame_B> build_pause_frame(const Pause& pause) {
  std::array<std::uint8_t, kPauseFrame_B> frame{};
  write_mac_control(pause.dst, pause.src, kMacControlPause, frame);
  put_be16(frame, 16, pause.quanta);
  return frame;
}

}  // namespace weft::wire
