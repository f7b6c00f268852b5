// A domain owns some nodes, the packets that wait for them and their cold sides; one thread runs it.
// In a window every node with something to do runs to the window's end, one after the other
// (docs/mechanisms/event-order.md). Nodes are called through one function pointer per visit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "engine/packet_format.h"
#include "engine/slot_pool.h"
#include "spec/telemetry.h"

namespace weft::engine {

// A node runs its events with time < end and returns when it next has one (kNever_ps: when something arrives).
struct NodeHook {
  void* self = nullptr;
  Time_ps (*run)(void* self, Time_ps end_ps) = nullptr;
};
inline constexpr std::size_t kHotLines = 6;

// Source of the bytes of packets that carry none themselves, for those who write frames: puts them into `out`, as many
// as it has and as fit, and returns how many.
struct PayloadSource {
  void* self = nullptr;
  std::size_t (*fill)(void* self, const Packet& packet, const Cold& cold, std::span<std::uint8_t> out) = nullptr;
};

class alignas(128) Domain {  // two lines: CPUs fetch them in pairs
 public:
  std::uint32_t add_node(NodeHook hook) {
    nodes_.push_back(hook);
    wake_ps_.push_back(0);
    const auto* self = static_cast<const std::byte*>(hook.self == nullptr ? this : hook.self);
    hot_.push_back({self, self, nullptr, nullptr});
    due_.push_back(0);
    group_ps_.resize((nodes_.size() + kGroup - 1) / kGroup);
    group_ps_.back() = 0;
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  // A packet for `node` is due at `time_ps`, or the node wants to be visited then.
  void wake(std::uint32_t node, Time_ps time_ps) {
    WEFT_DCHECK(node < nodes_.size(), "a node of this domain");
    wake_ps_[node] = std::min(wake_ps_[node], time_ps);
    group_ps_[node / kGroup] = std::min(group_ps_[node / kGroup], time_ps);
  }

  // A visit to `node` touches this cache line soon, beside the first kHotLines of the node itself.
  void set_hot(std::uint32_t node, const void* line) { hot_[node].line = static_cast<const std::byte*>(line); }
  // This is called a visit ahead, when those lines are there, and asks for lines that they lead to.
  using Prepare = void (*)(const void* self, Time_ps end_ps);
  void set_prepare(std::uint32_t node, Prepare prepare, const void* self) {
    hot_[node].prepare = prepare;
    hot_[node].prepare_self = self;
  }

  Time_ps next_wake_ps() const {
    Time_ps earliest = kNever_ps;
    for (Time_ps t : group_ps_) earliest = std::min(earliest, t);
    return earliest;
  }

  // Nodes have run up to here, or do so in this window: what they send is due later.
  Time_ps window_end_ps() const { return window_end_ps_; }

  void run_window(Time_ps end_ps) {
    window_end_ps_ = end_ps;
    const std::uint32_t count = find_due(end_ps);
    if (count > 0) prefetch(hot_[due_[0]]);
    if (count > 1) prefetch(hot_[due_[1]]);
    for (std::uint32_t n = 0; n < count; ++n) {
      if (n + 2 < count) prefetch(hot_[due_[n + 2]]);
      if (n + 1 < count) {
        const Hot& next = hot_[due_[n + 1]];
        if (next.prepare != nullptr) next.prepare(next.prepare_self, end_ps);
      }
      const std::uint32_t i = due_[n];
      const Time_ps woken_ps = wake_ps_[i];  // by nodes that were visited before it
      wake_ps_[i] = kNever_ps;
      Time_ps next_ps = nodes_[i].run(nodes_[i].self, end_ps);
      WEFT_DCHECK(next_ps >= end_ps, "a node runs up to the end of the window");
      next_ps = std::min(next_ps, woken_ps);
      // Wake-up that it asked for within the window it has done.
      if (wake_ps_[i] >= end_ps) next_ps = std::min(wake_ps_[i], next_ps);
      wake_ps_[i] = next_ps;
      group_ps_[i / kGroup] = std::min(group_ps_[i / kGroup], next_ps);
    }
    for (std::uint32_t group = 0; group < group_ps_.size(); ++group) {
      if (group_ps_[group] >= end_ps) continue;
      const std::size_t first = std::size_t{group} * kGroup;
      const std::size_t last = std::min(first + kGroup, wake_ps_.size());
      group_ps_[group] = *std::min_element(wake_ps_.data() + first, wake_ps_.data() + last);
    }
  }

  SlotPool<Cold> cold;
  SlotPool<PayloadSlot> payload;
  SlotPool<Telemetry> telemetry;
  const PacketFormats* formats = &kNoFormats;  // what its packets mean
  PayloadSource bytes;                         // of a world that programs run in
  // Mail to other domains: which of the two boxes of each route is written in this window, and when the first packet of
  // this window is due.
  std::uint32_t mail_turn = 0;
  Time_ps mail_ps = kNever_ps;

  void free_cold(std::uint32_t slot) {
    if (cold[slot].payload != kNoSlot) payload.give_back(cold[slot].payload);
    if (cold[slot].telemetry != kNoSlot) telemetry.give_back(cold[slot].telemetry);
    cold.give_back(slot);
  }
  // A second packet like it, with a cold side of its own.
  Packet copy(const Packet& packet) {
    Packet twin = packet;
    if ((packet.flags & Packet::kHasCold) == 0) return twin;
    twin.aux = cold.take();
    WEFT_DCHECK(twin.aux != packet.aux, "a copy has a cold side of its own");
    Cold& own = cold[twin.aux];
    own = cold[packet.aux];
    own.payload = copy_slot(payload, own.payload);
    own.telemetry = copy_slot(telemetry, own.telemetry);
    return twin;
  }
  // The packet ends here: its cold side, if any, goes back to the pool.
  void release(const Packet& packet) {
    if (packet.flags & Packet::kHasCold) free_cold(packet.aux);
  }

 private:
  template <class Slot>
  static std::uint32_t copy_slot(SlotPool<Slot>& pool, std::uint32_t from) {
    if (from == kNoSlot) return kNoSlot;
    const std::uint32_t slot = pool.take();
    pool[slot] = pool[from];
    return slot;
  }
  // Never null: the CPU would walk the page table for nothing, which costs more than the visit.
  struct Hot {
    const std::byte* self;
    const std::byte* line;
    Prepare prepare;
    const void* prepare_self;
  };
  static void prefetch(const Hot& hot) {
    for (std::size_t line = 0; line < kHotLines; ++line) __builtin_prefetch(hot.self + line * 64);
    __builtin_prefetch(hot.line);
  }

  // Puts the nodes with something to do into due_; the rest decides about the times of their groups.
  std::uint32_t find_due(Time_ps end_ps) {
    std::uint32_t count = 0;
    for (std::uint32_t group = 0; group < group_ps_.size(); ++group) {
      if (group_ps_[group] >= end_ps) continue;
      Time_ps earliest_ps = kNever_ps;
      const std::uint32_t first = group * kGroup;
      const std::uint32_t last = std::min(first + kGroup, static_cast<std::uint32_t>(nodes_.size()));
      for (std::uint32_t i = first; i < last; ++i) {
        if (wake_ps_[i] >= end_ps) {
          earliest_ps = std::min(earliest_ps, wake_ps_[i]);
        } else {
          wake_ps_[i] = kNever_ps;
          due_[count++] = i;
        }
      }
      group_ps_[group] = earliest_ps;
    }
    WEFT_DCHECK(count <= nodes_.size(), "a node is visited once in a window");
    return count;
  }

  static constexpr std::uint32_t kGroup = 64;  // nodes whose earliest wake time is kept: most sleep in most windows

  Time_ps window_end_ps_ = 0;
  std::vector<NodeHook> nodes_;
  std::vector<Time_ps> wake_ps_;
  std::vector<Time_ps> group_ps_;
  std::vector<Hot> hot_;
  std::vector<std::uint32_t> due_;  // nodes of this window
};

}  // namespace weft::engine
