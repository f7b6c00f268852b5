// How long a port has received more than its NIC can process for ever. A flow above some 94 Gb/s loses 73 packets in
// every 13 ms at the ingress of a ConnectX-5 Ex, with one queue pair or with several, and none where it pauses for long
// enough or where the port sends as well ([simllm-ingress]). What happens inside is not known. This law has all of it:
// a queue that is served at `rx_sustained`, and by as much as the port sends, must become empty once in
// `rx_slow_after`; otherwise the NIC takes packets from its receive buffer at `rx_slow_rate` for `rx_slow`, half to one
// and a half times of it. A buffer that was full takes packets again when it is down to `rx_resume`.
// docs/mechanisms/loss.md has the figures. Used by nic/receive_buffer.h; a NIC without `rx_sustained` has none of
// it. Times in ps, bytes of the queue are those on the line.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/time.h"
#include "spec/nic_model.h"

namespace weft::nic {

class ReceiveLoad {
 public:
  // A frame of `line_B` bytes comes in; the port has sent `sent_B` so far.
  void count(const NicModel& model, std::uint32_t line_B, std::uint64_t sent_B, Time_ps now_ps) {
    WEFT_DCHECK(now_ps >= at_ps_ && sent_B >= sent_B_, "what a port has sent becomes less");
    const std::int64_t served_B =
        bytes_of(model.rx_sustained_bps, now_ps - at_ps_) + static_cast<std::int64_t>(sent_B - sent_B_);
    sent_B_ = sent_B;
    at_ps_ = now_ps;
    if (served_B >= queue_B_) {
      queue_B_ = 0;
      busy_since_ps_ = now_ps;
    } else {
      queue_B_ -= served_B;
    }
    queue_B_ += line_B;
    is_due_ = now_ps - busy_since_ps_ >= model.rx_slow_after_ps && !is_slow(now_ps);
  }
  // It has been too much for too long: begin().
  bool is_due() const { return is_due_; }
  void begin(Time_ps length_ps, Time_ps now_ps) {
    busy_since_ps_ = filled_at_ps_ = now_ps;
    slow_until_ps_ = now_ps + length_ps;
    filled_B_ = 0;
    is_due_ = is_full_ = false;
  }
  bool is_slow(Time_ps now_ps) const { return now_ps < slow_until_ps_; }
  // How long what comes now waits in the receive buffer.
  Time_ps wait_ps(const NicModel& model, Time_ps now_ps) const {
    if (!is_slow(now_ps)) return 0;
    return std::min(filled_B_ * 8 * (kSecond_ps / 1'000'000) / (model.rx_slow_rate_bps / 1'000'000),
                    slow_until_ps_ - now_ps);
  }

  // While it is slow: `payload_B` bytes more are in the receive buffer, or do not fit (and are not).
  bool fill(const NicModel& model, std::uint32_t payload_B, Time_ps now_ps) {
    filled_B_ = std::max<std::int64_t>(filled_B_ - bytes_of(model.rx_slow_rate_bps, now_ps - filled_at_ps_), 0);
    filled_at_ps_ = now_ps;
    is_full_ = filled_B_ + payload_B > (is_full_ ? model.rx_resume_B : model.rx_buffer_B);
    if (!is_full_) filled_B_ += payload_B;
    WEFT_DCHECK(filled_B_ >= 0 && filled_B_ <= model.rx_buffer_B, "a receive buffer holds more than its size");
    return !is_full_;
  }
  std::int64_t filled_B() const { return filled_B_; }

 private:
  // A second is more than any of this remembers.
  static std::int64_t bytes_of(std::int64_t rate_bps, Time_ps time_ps) {
    const auto bits =
        static_cast<unsigned __int128>(std::min(time_ps, kSecond_ps)) * static_cast<std::uint64_t>(rate_bps);
    return static_cast<std::int64_t>(bits / (8 * static_cast<std::uint64_t>(kSecond_ps)));
  }

  std::int64_t queue_B_ = 0;
  std::uint64_t sent_B_ = 0;
  Time_ps at_ps_ = 0;
  Time_ps busy_since_ps_ = 0;
  Time_ps slow_until_ps_ = 0;
  std::int64_t filled_B_ = 0;
  Time_ps filled_at_ps_ = 0;
  bool is_due_ = false, is_full_ = false;
};

}  // namespace weft::nic
