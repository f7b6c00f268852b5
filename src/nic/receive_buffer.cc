#include "nic/receive_buffer.h"

#include <algorithm>

#include "base/check.h"
#include "fabric/link.h"

namespace weft::nic {

namespace {

// Half to one and a half times of the mean.
Time_ps slow_ps(Time_ps mean_ps, RandomStream& random) {
  return mean_ps / 2 + static_cast<Time_ps>(random.below(static_cast<std::uint64_t>(mean_ps) + 1));
}

// `size_B` bytes of the buffer, as PCIe time.
Time_ps fill_ps(const Card& card, std::int64_t size_B) {
  constexpr std::uint32_t kSample_B = 4096;
  return card.functions.front().transfer_ps(kSample_B) * size_B / kSample_B;
}

}  // namespace

ReceiveBuffer::ReceiveBuffer(const DeviceConfig& config, const NicModel& model, Card& card, const Counters& counters,
                             RandomStream& random)
    : xoff_ps_(fill_ps(card, config.model.rx_pause_xoff_B)),
      is_slow_(config.slow_ps_per_byte > 0 || config.model.rx_sustained_bps > 0),
      model_(model),
      card_(card),
      counters_(counters),
      random_(random),
      size_ps_(fill_ps(card, config.model.rx_buffer_B)),
      xon_ps_(fill_ps(card, config.model.rx_pause_xon_B)),
      slow_ps_per_byte_(config.slow_ps_per_byte),
      slow_from_ps_(config.slow_from_ps),
      slow_until_ps_(config.slow_until_ps) {
  WEFT_CHECK(xon_ps_ <= xoff_ps_ && xoff_ps_ <= size_ps_, "receive buffer: XON above XOFF, or XOFF above its size");
}

bool ReceiveBuffer::count(const engine::Packet& packet, Time_ps now_ps) {
  if (slow_ps_per_byte_ > 0) apply_fault(now_ps);
  if (model_.rx_sustained_bps == 0) return false;
  std::uint64_t sent_B = 0;
  for (const Counters::PriorityTraffic& priority : counters_.priorities)
    sent_B += priority.tx.bytes + priority.tx.packets * fabric::kLineOverhead_B;
  load_.count(model_, fabric::line_B(packet), sent_B, now_ps);
  if (load_.is_due()) load_.begin(slow_ps(model_.rx_slow_ps, random_), now_ps);
  return load_.is_slow(now_ps);
}

bool ReceiveBuffer::is_drained(Time_ps now_ps) const {
  if (card_.functions.front().path() != nullptr) return pending_ps(card_.functions, now_ps) <= xon_ps_;
  Time_ps backlog_ps = 0;
  for (const PcieFunction& function : card_.functions)
    backlog_ps = std::max(backlog_ps, function.write_backlog_ps(now_ps));
  return backlog_ps <= xon_ps_;
}

Time_ps ReceiveBuffer::drained_by_ps(Time_ps now_ps) const {
  Time_ps drained_ps = now_ps;
  if (card_.functions.front().path() == nullptr) {
    for (const PcieFunction& function : card_.functions)
      drained_ps = std::max(drained_ps, function.drained_to_ps(xon_ps_));
  } else {
    const Time_ps link_ps = now_ps + pending_ps(card_.functions, now_ps) - xon_ps_;
    Time_ps next_ps = kNever_ps;
    for (const PcieFunction& function : card_.functions)
      next_ps = std::min(next_ps, function.path()->pending().next_end_ps());
    drained_ps = std::max({now_ps, link_ps, next_ps == kNever_ps ? now_ps : next_ps});
  }
  return slow_until_ps_ > now_ps ? std::min(drained_ps, slow_until_ps_) : drained_ps;
}

void ReceiveBuffer::apply_fault(Time_ps now_ps) {
  if (slow_ps_per_byte_ == 0) return;
  for (PcieFunction& function : card_.functions) {
    std::int64_t permille = PcieFunction::kUnslowed;
    constexpr std::uint32_t kSample_B = 4096;
    if (is_faulty(now_ps))
      permille =
          std::max(permille, PcieFunction::kUnslowed * kSample_B * slow_ps_per_byte_ / function.transfer_ps(kSample_B));
    if (function.slow_permille() != permille) function.slow_writes(permille, now_ps);
  }
}

void ReceiveBuffer::set_fault(Time_ps ps_per_byte, Time_ps from_ps, Time_ps until_ps) {
  WEFT_CHECK(ps_per_byte >= 0, "a slow receiver takes a time above 0 for a byte");
  is_slow_ = true;
  if (ps_per_byte != 0) slow_ps_per_byte_ = ps_per_byte;
  slow_from_ps_ = from_ps;
  slow_until_ps_ = until_ps;
}

}  // namespace weft::nic
