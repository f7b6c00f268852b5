// The PCIe link of one function: how long payload occupies it, from lane rate, encoding and TLP overhead
// ([pcie-model]), and when it is free. Latencies of the root complex belong to the host.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/time.h"
#include "spec/pcie_link.h"
#include "spec/wait.h"

namespace weft::nic {

class PciePath;

// A function of a card. By default its link is all that DMA meets, and that is computed here. Where memory is far,
// behind a GPU or an IOMMU, or where requests in flight are the limit, a PciePath (nic/pcie/path.h) takes its place.
class alignas(64) PcieFunction {
 public:
  explicit PcieFunction(PcieLink link)
      : shift_(shift_of(link.max_payload_B)), ps_per_byte_q16_((8 * kSecond_ps << 16) / link.tlp_bps()) {}

  Time_ps transfer_ps(std::uint32_t payload_B) const {
    if (payload_B == last_payload_B_) return last_transfer_ps_;
    Time_ps transfer = link_ps(payload_B);
    if (path_ != nullptr) return transfer;  // then no size is remembered, so that every read comes by here
    last_payload_B_ = payload_B;
    last_transfer_ps_ = transfer;
    return transfer;
  }

  // Reads run ahead of the wire: payload for a packet that is due now may have been fetched during the last
  // kPrefetch_ps. Returns when it is in the NIC; take_read() then uses the link.
  Time_ps read_available_ps(std::uint32_t payload_B, Time_ps now_ps) {
    if (payload_B != last_payload_B_ && path_ != nullptr) [[unlikely]]
      return read_by_path(payload_B, now_ps);
    return std::max(read_until_ps_, now_ps - kPrefetch_ps) + transfer_ps(payload_B);
  }
  void take_read(Time_ps available_ps) {
    WEFT_DCHECK(available_ps >= read_until_ps_, "reads of one function end in another order than they began");
    read_until_ps_ = available_ps;
  }
  // Reason for which a read that is not in the NIC yet waits.
  Wait read_wait() const { return path_ == nullptr ? Wait::kPcie : read_wait_by_path(); }
  // Waits of writes so far. Without a path only the proportion means something.
  PcieTimes write_times() const;

  // A posted write of payload that is handed over at `now_ps`; returns when it left the NIC.
  Time_ps write(std::uint32_t payload_B, Time_ps now_ps) {
    if (slow_permille_ != kUnslowed) [[unlikely]]
      return write_slowly(payload_B, now_ps, false);
    WEFT_DCHECK(transfer_ps(payload_B) >= 0, "a transfer of less than no time");
    write_until_ps_ = std::max(write_until_ps_, now_ps) + transfer_ps(payload_B);
    return write_until_ps_;
  }
  // The same of a completion queue entry, which goes to the program's memory wherever the payload is.
  Time_ps write_entry(std::uint32_t entry_B, Time_ps now_ps) {
    if (slow_permille_ != kUnslowed) [[unlikely]]
      return write_slowly(entry_B, now_ps, true);
    write_until_ps_ = std::max(write_until_ps_, now_ps) + transfer_ps(entry_B);
    return write_until_ps_;
  }
  // Nothing is written before.
  void hold_writes(Time_ps until_ps) { write_until_ps_ = std::max(write_until_ps_, until_ps); }
  // Memory takes `permille` / 1000 as long from now on; what waits is as many bytes as before.
  void slow_writes(std::int64_t permille, Time_ps now_ps);
  std::int64_t slow_permille() const { return fault_permille_; }
  // Backlog of writes, as the time that the link alone would take. With a path: path()->pending() knows.
  Time_ps write_backlog_ps(Time_ps now_ps) const {
    Time_ps left_ps = write_until_ps_ - now_ps;
    return slow_permille_ == kUnslowed || left_ps <= 0 ? left_ps : left_ps * kUnslowed / slow_permille_;
  }
  // When so much of it will be left.
  Time_ps drained_to_ps(Time_ps backlog_ps) const { return write_until_ps_ - slowed_ps(backlog_ps); }

  // Delay of distance: to the doorbell and to the first read of `fetch_B` bytes of payload; to a read; to a write
  // until the CPU sees it.
  Time_ps start_delay_ps(std::uint32_t fetch_B) { return path_ == nullptr ? 0 : start_delay_by_path_ps(fetch_B); }
  Time_ps read_delay_ps() { return path_ == nullptr ? 0 : read_delay_by_path_ps(); }
  Time_ps seen_delay_ps() { return path_ == nullptr ? 0 : seen_delay_by_path_ps(); }

  // From now on DMA of this function takes that path, which must outlive it.
  void set_path(PciePath& path);
  PciePath* path() const { return path_; }
  Time_ps link_ps(std::uint32_t payload_B) const {
    std::uint32_t tlps = (payload_B + (1u << shift_) - 1) >> shift_;
    auto link_B = static_cast<std::int64_t>(payload_B + tlps * kTlpOverhead_B);
    return (link_B * ps_per_byte_q16_) >> 16;
  }

  static constexpr std::int64_t kUnslowed = 1000;
  static constexpr Time_ps kPrefetch_ps = us(2);  // estimate: a few tens of KiB of transmit buffer

 private:
  Time_ps slowed_ps(Time_ps link_ps) const {
    return slow_permille_ == kUnslowed ? link_ps : link_ps * slow_permille_ / kUnslowed;
  }
  // nic/pcie/path.cc
  Time_ps read_by_path(std::uint32_t payload_B, Time_ps now_ps);
  Time_ps write_slowly(std::uint32_t payload_B, Time_ps now_ps, bool entry);
  Time_ps start_delay_by_path_ps(std::uint32_t fetch_B);
  Time_ps read_delay_by_path_ps();
  Time_ps seen_delay_by_path_ps();
  Wait read_wait_by_path() const;

  static constexpr std::uint32_t shift_of(std::uint32_t power_of_two) {
    std::uint32_t shift = 0;
    while ((1u << shift) < power_of_two) ++shift;
    return shift;
  }

  std::uint32_t shift_;
  mutable std::uint32_t last_payload_B_ = 0;  // most packets of a run are of one size
  std::int64_t ps_per_byte_q16_;
  mutable Time_ps last_transfer_ps_ = 0;
  Time_ps read_until_ps_ = 0;
  Time_ps write_until_ps_ = 0;
  std::int64_t slow_permille_ = kUnslowed;  // of a fault; with a path only that it is not kUnslowed
  PciePath* path_ = nullptr;
  std::int64_t fault_permille_ = kUnslowed;
};
static_assert(sizeof(PcieFunction) == 64);

}  // namespace weft::nic
