// A domain owns some nodes, the packets that wait for them and their cold sides; one thread runs it.
// In a window every node with something to do runs to the window's end, one after the other
// (docs/mechanisms/event-order.md). Nodes are called through one function pointer per visit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "engine/packet_format.h"
#include "engine/slot_pool.h"
#include "engine/telemetry.h"

namespace weft::engine {

// A node runs its events with time < end and returns when it next has one (kNever_ps: when something arrives).
struct NodeHook {
  void* self = nullptr;
  Time_ps (*run)(void* self, Time_ps end_ps) = nullptr;
};
inline constexpr std::size_t kHotLines = 6;

class Domain {
 public:
  std::uint32_t add_node(NodeHook hook) {
    nodes_.push_back(hook);
    wake_ps_.push_back(0);
    const void* hot = hook.self == nullptr ? this : hook.self;
    hot_.push_back(static_cast<const std::byte*>(hot));
    group_ps_.resize((nodes_.size() + kGroup - 1) / kGroup);
    group_ps_.back() = 0;
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  // A packet for `node` is due at `time_ps`, or the node wants to be visited then.
  void wake(std::uint32_t node, Time_ps time_ps) {
    wake_ps_[node] = std::min(wake_ps_[node], time_ps);
    group_ps_[node / kGroup] = std::min(group_ps_[node / kGroup], time_ps);
  }

  // Where the kHotLines cache lines lie that a visit to `node` touches first; else it is the node itself.
  void set_hot(std::uint32_t node, const void* hot) { hot_[node] = static_cast<const std::byte*>(hot); }

  Time_ps next_wake_ps() const {
    Time_ps earliest = kNever_ps;
    for (Time_ps t : group_ps_) earliest = std::min(earliest, t);
    return earliest;
  }

  void run_window(Time_ps end_ps) {
    for (std::uint32_t group = 0; group < group_ps_.size(); ++group) {
      if (group_ps_[group] >= end_ps) continue;
      std::uint32_t first = group * kGroup;
      std::uint32_t last = std::min(first + kGroup, static_cast<std::uint32_t>(nodes_.size()));
      for (std::uint32_t i = first; i < last; ++i) {
        if (wake_ps_[i] >= end_ps) continue;
        wake_ps_[i] = kNever_ps;
        prefetch(hot_[std::min(i + 1, last - 1)]);
        Time_ps next_ps = nodes_[i].run(nodes_[i].self, end_ps);
        wake_ps_[i] = std::min(wake_ps_[i], next_ps);
      }
      group_ps_[group] = *std::min_element(wake_ps_.begin() + first, wake_ps_.begin() + last);
    }
  }

  SlotPool<Cold> cold;
  SlotPool<PayloadSlot> payload;
  SlotPool<Telemetry> telemetry;
  const PacketFormats* formats = &kNoFormats;  // what its packets mean

  void free_cold(std::uint32_t slot) {
    if (cold[slot].payload != kNoSlot) payload.give_back(cold[slot].payload);
    if (cold[slot].telemetry != kNoSlot) telemetry.give_back(cold[slot].telemetry);
    cold.give_back(slot);
  }
  // The packet ends here: its cold side, if any, goes back to the pool.
  void release(const Packet& packet) {
    if (packet.flags & Packet::kHasCold) free_cold(packet.aux);
  }

 private:
  // Never null: the CPU would walk the page table for nothing, which costs more than the visit.
  static void prefetch(const std::byte* hot) {
    for (std::size_t line = 0; line < kHotLines; ++line) __builtin_prefetch(hot + line * 64);
  }

  static constexpr std::uint32_t kGroup = 64;  // nodes whose earliest wake time is kept: most sleep in most windows

  std::vector<NodeHook> nodes_;
  std::vector<Time_ps> wake_ps_;
  std::vector<Time_ps> group_ps_;
  std::vector<const std::byte*> hot_;
};

}  // namespace weft::engine
