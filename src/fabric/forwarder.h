// The software side of a forwarder, as far as no switch is needed: RX rings, interrupts, NAPI polls on softirq CPUs,
// and behind them the qdisc and the byte queue limit of each port. Times go in and out; who owns it
// (switch/software_path.h) keeps the timers and moves the packets. One RX queue per port and CPU: a flow stays on one
// of them (RSS). Not modelled: adaptive moderation, busy polling, GRO, more than one TX queue per port, what else wants
// the CPU.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/random.h"
#include "engine/packet_ring.h"
#include "fabric/byte_queue_limit.h"
#include "fabric/qdisc.h"
#include "spec/forwarder_counters.h"
#include "spec/forwarder_model.h"

namespace weft::fabric {

class Forwarder {
 public:
  Forwarder(const ForwarderConfig& config, const std::vector<std::uint32_t>& port_ids, std::uint64_t seed);

  struct TxPort {
    Qdisc qdisc;
    ByteQueueLimit limit;  // of frames with FCS
    std::uint64_t posted_B = 0, completed_B = 0;
    Time_ps completion_ps = kNever_ps;  // planned
    Time_ps stall_ps = kNever_ps;       // the next hold-up begins
    RandomStream stalls;
    TxPort(const QdiscConfig& config, std::uint64_t seed, std::uint32_t port_id)
        : qdisc(config, {seed, port_id, RandomPurpose::kEcn}), stalls(seed, port_id, RandomPurpose::kForwarder) {}
    std::uint64_t stopped = 0, max_limit_B = 0;
    bool is_stopped = false;
  };

  std::uint32_t cores() const { return static_cast<std::uint32_t>(cores_.size()); }
  // A frame is in host memory. False: no descriptor. `interrupt_ps`, when it is not kNever_ps, is when on_interrupt()
  // of `queue` has to be called.
  bool receive(std::uint32_t port, std::uint32_t core, const engine::Packet& packet, Time_ps now_ps,
               Time_ps& interrupt_ps);
  std::uint32_t queue(std::uint32_t port, std::uint32_t core) const { return port * cores() + core; }
  // NAPI is scheduled on the queue's CPU; the time at which that CPU is done with a packet, or kNever_ps when it is
  // busy already or the interrupt was planned anew.
  Time_ps on_interrupt(std::uint32_t queue, Time_ps now_ps);
  // The CPU has handled a packet, which goes to `packet` and `port`. When it is done with the next, or kNever_ps.
  Time_ps on_packet(std::uint32_t core, engine::Packet& packet, std::uint32_t& port, Time_ps now_ps);

  TxPort& tx(std::uint32_t port) { return tx_[port]; }
  const TxPort& tx(std::uint32_t port) const { return tx_[port]; }
  // When completions of what was handed to the NIC just now are taken.
  Time_ps completion_ps(TxPort& port, Time_ps now_ps);

  std::uint64_t held() const;  // packets in rings and qdiscs
  ForwarderPortCounters counters(std::uint32_t port) const;
  const SoftirqCounters& softirq(std::uint32_t core) const { return cores_[core].counters; }

 private:
  struct RxQueue {
    engine::PacketRing packets;
    std::uint32_t used = 0;  // descriptors: packets that wait, and those of the poll that goes on
    std::uint32_t pending = 0;
    bool scheduled = false;
    Time_ps interrupt_ps = kNever_ps;
    ForwarderPortCounters counters;
  };
  struct Core {
    std::deque<std::uint32_t> polls;  // queues that NAPI has to poll, in turn; the first is polled
    std::uint32_t polled = 0;         // in this poll
    std::uint32_t budget = 0;         // used in this softirq run
    bool busy = false;
    SoftirqCounters counters;
  };
  Time_ps start(Core& core, Time_ps now_ps);

  ForwarderModel model_;
  std::vector<std::uint32_t> rings_;  // descriptors, by port
  std::vector<Time_ps> costs_ps_;     // of a packet that came in by this port: with red when another port has it
  std::deque<RxQueue> queues_;        // by port and core
  std::vector<Core> cores_;
  std::deque<TxPort> tx_;
};

}  // namespace weft::fabric
