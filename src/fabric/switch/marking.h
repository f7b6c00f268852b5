// RED and ECN at the queues of a switch (fabric/ecn_marker.h has the ramp): on the way in, where a packet cannot be
// marked or the ramp says so, and on the way out.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "fabric/ecn_marker.h"
#include "fabric/switch/port.h"
#include "fabric/switch_setup.h"

namespace weft::fabric {

class Marking {
 public:
  enum class Verdict : std::uint8_t { kPass, kMarked, kDrop };

  explicit Marking(const SwitchSetup& setup);
  Marking(const Marking&) = delete;
  Marking& operator=(const Marking&) = delete;

  // Is it known without its ramp that the packet passes? What can be marked and is marked on the way out does.
  bool passes_at_enqueue(std::uint32_t q, std::uint32_t queue_B, const engine::PacketBody& packet) const {
    return queue_B < red_from_B_[q] || ((packet.tos & kEcnMask) != 0 && (mark_at_enqueue_ >> q & 1) == 0);
  }
  // For all others.
  Verdict enqueue(SwitchPort& out, std::uint32_t q, engine::PacketBody& packet);
  // May a packet that leaves a queue of this length be marked? Then dequeue() decides and says whether it was.
  bool may_mark(std::uint32_t q, std::uint32_t queue_B) const { return queue_B >= mark_from_B_[q]; }
  bool dequeue(SwitchPort& out, std::uint32_t q, engine::PacketBody& packet);

  const EcnRamp& ramp(std::uint32_t port, std::uint32_t queue) const {
    return own_.empty() ? queues_[queue].ecn : own_[port][queue];
  }
  void set_ramp(std::uint32_t port, std::uint32_t queue, const EcnRamp& ramp);

 private:
  void use_ramps(std::uint32_t queue);
  bool hits(const EcnRamp& ramp, const SwitchPort& out, std::uint32_t q);
  void mark(SwitchPort& out, std::uint32_t q, engine::PacketBody& packet);

  std::array<std::uint32_t, kClasses> red_from_B_{};   // on the way in: a shorter queue is not looked at
  std::array<std::uint32_t, kClasses> mark_from_B_{};  // on the way out
  std::uint8_t mark_at_enqueue_ = 0;                   // queues
  const std::array<QueueConfig, kClasses>& queues_;
  std::vector<std::array<EcnRamp, kClasses>> own_;              // by port, queue; empty: all have the setup's
  std::vector<RandomStream> random_;                            // by port
  std::vector<std::array<std::int64_t, kClasses>> average_q8_;  // by port, queue: EWMA of its length << 8
};

}  // namespace weft::fabric
