// Completion side of a port: what its host sees of it. Writes to the host's memory and when a CPU sees them, entries of
// completion queues, asynchronous events. A write that leaves the NIC passes root complex and memory, with a little
// jitter (HostSide); bytes that are elsewhere (RegionAccess) are never seen out of order. Times in ps.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"
#include "base/time.h"
#include "fabric/link.h"
#include "nic/async.h"
#include "nic/device_config.h"
#include "nic/memory.h"
#include "nic/pcie/function.h"
#include "nic/queues/completion_queue.h"

namespace weft::nic {

class PortSchedule;

class CompletionSide {
 public:
  CompletionSide(const DeviceConfig& config, CompletionQueues& queues, PortSchedule& schedule,
                 fabric::LinkDirection& in);

  void push(std::uint32_t cq, const Completion& completion);
  // An entry has found no place. The queue pairs fail a moment later, not in the middle of what completed too much: a
  // timer comes up for the queue.
  void lose(std::uint32_t cq, Time_ps at_ps);
  void tell(AsyncKind kind, std::uint32_t number, Time_ps now_ps) const {
    if (host_.on_async != nullptr) host_.on_async(host_.self, kind, number, now_ps);
  }
  // A watched region was written: somebody spins on it.
  void tell_written(std::uint32_t key, Time_ps visible_ps) const { host_.on_write(host_.self, key, visible_ps); }

  // When a CPU sees a posted write of `function` that left the NIC then.
  Time_ps visible_ps(Time_ps left_nic_ps, PcieFunction& function);
  // A DMA write of bytes that left the NIC then; `function` is the card's first. False: the memory is gone.
  bool store(MemoryRegion& region, std::uint64_t va, std::span<const std::uint8_t> in, Time_ps left_nic_ps,
             PcieFunction& function);
  // The same of a packet's payload. The packet has none afterwards, if the region is elsewhere.
  bool store_payload(MemoryRegion& region, std::uint64_t va, const engine::Packet& packet, Time_ps left_nic_ps,
                     PcieFunction& function);
  std::span<const std::uint8_t> payload_of(const engine::Packet& packet) const;

 private:
  const HostSide& host_;
  CompletionQueues& queues_;
  PortSchedule& schedule_;
  fabric::LinkDirection& in_;
  RandomStream jitter_;
  Time_ps ordered_ps_ = 0;  // no CPU sees anything before: the last write to memory elsewhere, which nothing passes
};

}  // namespace weft::nic
