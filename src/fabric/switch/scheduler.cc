#include "fabric/switch/scheduler.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace weft::fabric {

namespace {

constexpr std::uint32_t kMaxFrame_B = 9216 + 18;

}  // namespace

Scheduler::Scheduler(const SwitchQos& qos) {
  std::uint32_t lightest = 0xffffffff;
  for (std::size_t q = 0; q < kClasses; ++q) {
    if (qos.queues[q].scheduling == Scheduling::kStrict) strict_ |= static_cast<std::uint8_t>(1u << q);
    lightest = std::min(lightest, std::max(1u, qos.queues[q].weight));
  }
  // The lightest queue may send one frame of the largest size in its turn.
  for (std::size_t q = 0; q < kClasses; ++q)
    quantum_B_[q] = static_cast<std::uint32_t>(std::uint64_t{kMaxFrame_B} * qos.queues[q].weight / lightest);
}

std::uint32_t Scheduler::choose(SwitchPort& port, std::uint8_t eligible, const WaitingPackets& waiting) const {
  WEFT_DCHECK(eligible != 0 && (eligible & ~port.waiting) == 0, "queues that may send have packets");
  if (auto strict = static_cast<std::uint8_t>(eligible & strict_); strict != 0)
    return static_cast<std::uint32_t>(std::bit_width(strict)) - 1;
  for (;;) {
    const std::uint32_t q = port.turn;
    SwitchPort::Lane& lane = port.lanes[q];
    if (eligible >> q & 1) {
      const std::uint32_t frame_B = waiting[lane.queue.head].frame_B;
      if (frame_B <= lane.deficit_B) {
        lane.deficit_B -= frame_B;
        return q;
      }
    } else {
      lane.deficit_B = 0;
    }
    do {
      port.turn = (port.turn + 1) % kClasses;
    } while ((eligible >> port.turn & 1) == 0);
    SwitchPort::Lane& next = port.lanes[port.turn];
    next.deficit_B += quantum_B_[port.turn];
    WEFT_DCHECK(next.deficit_B < 2 * std::uint64_t{quantum_B_[port.turn]} + kMaxFrame_B + 64,
                "a deficit is less than a turn and a frame");
  }
}

}  // namespace weft::fabric
