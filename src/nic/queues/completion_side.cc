#include "nic/queues/completion_side.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "nic/port_schedule.h"
#include "nic/record/message_trace.h"

namespace weft::nic {

using engine::Packet;

CompletionSide::CompletionSide(const DeviceConfig& config, CompletionQueues& queues, PortSchedule& schedule,
                               fabric::LinkDirection& in)
    : host_(config.host),
      queues_(queues),
      schedule_(schedule),
      in_(in),
      jitter_(config.seed, config.port_id, RandomPurpose::kHostJitter) {}

void CompletionSide::push(std::uint32_t cq, const Completion& completion) {
  CompletionQueue& queue = queues_[cq];
  const Time_ps visible_ps = queue.push(completion);
  if (visible_ps == kNever_ps) [[unlikely]] {
    lose(cq, completion.visible_ps);
  } else if (queue.armed &&
             (!queue.solicited_only || completion.solicited || completion.status != WcStatus::kSuccess)) {
    WEFT_DCHECK(visible_ps >= completion.visible_ps, "a CPU sees an entry before it is written");
    host_.on_completion(host_.self, cq, visible_ps);
  }
}

void CompletionSide::lose(std::uint32_t cq, Time_ps at_ps) {
  if (queues_[cq].lost() == 1) schedule_.add_timer(kCqContext | cq, at_ps);
}

Time_ps CompletionSide::visible_ps(Time_ps left_nic_ps, PcieFunction& function) {
  const Time_ps jitter_ps =
      host_.memory_jitter_ps == 0
          ? 0
          : static_cast<Time_ps>(jitter_.below(static_cast<std::uint64_t>(host_.memory_jitter_ps)));
  const Time_ps seen_ps = left_nic_ps + host_.dma_write_ps + jitter_ps + function.seen_delay_ps();
  WEFT_DCHECK(seen_ps >= left_nic_ps, "a CPU sees a write before it has left the NIC");
  if (host_.trace != nullptr) [[unlikely]]
    host_.trace->seen_after(left_nic_ps, host_.dma_write_ps, jitter_ps, seen_ps);
  return std::max(seen_ps, ordered_ps_);
}

bool CompletionSide::store(MemoryRegion& region, std::uint64_t va, std::span<const std::uint8_t> in,
                           Time_ps left_nic_ps, PcieFunction& function) {
  WEFT_CHECK(region.covers(va, in.size()), "a DMA write outside of its region");
  if (region.elsewhere != nullptr) [[unlikely]]
    ordered_ps_ = visible_ps(left_nic_ps, function);
  return MemoryTable::write(region, va, in, ordered_ps_);
}

bool CompletionSide::store_payload(MemoryRegion& region, std::uint64_t va, const Packet& packet, Time_ps left_nic_ps,
                                   PcieFunction& function) {
  const std::span<const std::uint8_t> in = payload_of(packet);
  const RegionAccess* elsewhere = region.elsewhere;
  if (in.empty() || elsewhere == nullptr || elsewhere->give == nullptr)
    return store(region, va, in, left_nic_ps, function);
  WEFT_CHECK(region.covers(va, packet.payload_B), "a DMA write outside of its region");
  engine::Domain& domain = in_.destination();
  const std::uint32_t slot = std::exchange(domain.cold[packet.aux].payload, engine::kNoSlot);
  ordered_ps_ = visible_ps(left_nic_ps, function);
  return elsewhere->give(elsewhere->self, va, packet.payload_B, domain.payload, slot, ordered_ps_);
}

std::span<const std::uint8_t> CompletionSide::payload_of(const Packet& packet) const {
  if ((packet.flags & Packet::kHasCold) == 0) return {};
  engine::Domain& domain = in_.destination();
  const std::uint32_t slot = domain.cold[packet.aux].payload;
  if (slot == engine::kNoSlot) return {};
  return std::span(domain.payload[slot]).first(packet.payload_B);
}

}  // namespace weft::nic
