// Pause frames: priority-based flow control (802.1Qbb, 802.1Q 36; MAC control opcode 0x0101) and
// the older pause of a whole link (802.3 Annex 31B; opcode 0x0001). Untagged, 60 bytes and FCS.
// Times are in quanta of 512 bit times of the port that receives the frame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>

#include "base/time.h"
#include "wire/bytes.h"
#include "wire/ethernet.h"
#include "wire/wire_error.h"

namespace weft::wire {

inline constexpr std::size_t kPauseFrame_B = 60;  // without FCS
inline constexpr MacAddress kPauseDestination = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
inline constexpr std::uint16_t kMacControlPause = 0x0001;
inline constexpr std::uint16_t kMacControlPfc = 0x0101;
inline constexpr std::uint16_t kMaxQuanta = 0xffff;

// 512 bit times are the time of 64 bytes.
constexpr Time_ps pause_time_ps(std::uint16_t quanta, std::int64_t rate_bps) {
  return quanta * 64 * ps_per_byte(rate_bps);
}

struct Pfc {
  MacAddress src{};
  std::uint8_t class_enable = 0;          // bit n: quanta[n] counts
  std::array<std::uint16_t, 8> quanta{};  // 0 with its bit set: resume (XON)

  friend bool operator==(const Pfc&, const Pfc&) = default;
};

class PfcView {
 public:
  // Checks the length, destination, EtherType and opcode. The reserved high byte of the class-enable
  // vector and the padding are not looked at.
  static tl::expected<PfcView, WireError> parse(Bytes frame);

  MacAddress src() const;
  std::uint8_t class_enable() const { return bytes_[17]; }
  bool is_enabled(std::size_t priority) const { return (class_enable() >> priority & 1) != 0; }
  std::uint16_t quanta(std::size_t priority) const { return be16(bytes_, 18 + 2 * priority); }
  Pfc header() const;

 private:
  explicit PfcView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};

struct Pause {
  MacAddress dst = kPauseDestination;  // the peer's own address is allowed too (Annex 31B)
  MacAddress src{};
  std::uint16_t quanta = 0;

  friend bool operator==(const Pause&, const Pause&) = default;
};

class PauseView {
 public:
  static tl::expected<PauseView, WireError> parse(Bytes frame);

  MacAddress dst() const;
  MacAddress src() const;
  std::uint16_t quanta() const { return be16(bytes_, 16); }
  Pause header() const { return {dst(), src(), quanta()}; }

 private:
  explicit PauseView(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};

std::array<std::uint8_t, kPauseFrame_B> build_pfc_frame(const Pfc& pfc);
std::array<std::uint8_t, kPauseFrame_B> build_pause_frame(const Pause& pause);

}  // namespace weft::wire
