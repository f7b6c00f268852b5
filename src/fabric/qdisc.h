// The queueing discipline of one egress port of a software forwarder: pfifo, or RED with ECN as linux
// net/sched/sch_red.c and include/net/red.h do it: an average that moves with every packet, marks spread by a count
// since the last one (Floyd and Jacobson 1993, section 7), and the byte limit of its FIFO. Counters are those of `tc -s
// qdisc`. Not modelled: adaptive RED, harddrop, nodrop, other child queues.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "engine/packet_ring.h"
#include "spec/forwarder_counters.h"
#include "spec/forwarder_model.h"

namespace weft::fabric {

class Qdisc {
 public:
  enum class Verdict : std::uint8_t { kQueued, kEarlyDrop, kOverLimit };

  Qdisc(const QdiscConfig& config, RandomStream random);

  // `packet` came in by port `in`. Sets CE in it when RED marks it.
  Verdict enqueue(engine::PacketBody& packet, std::uint32_t in, std::uint32_t length_B, Time_ps now_ps);
  bool empty() const { return packets_.empty(); }
  // The first, its time_ps the port that it came in by.
  const engine::Packet& front() const { return packets_.front(); }
  void pop(std::uint32_t length_B, Time_ps now_ps);
  void requeued() { ++counters_.requeues; }
  const QdiscCounters& counters() const { return counters_; }
  const QdiscConfig& config() const { return config_; }
  std::uint64_t average_B() const { return average_ >> weight_; }

 private:
  enum class Action : std::uint8_t { kPass, kMark, kForce };
  Action red(Time_ps now_ps);

  QdiscConfig config_;
  QdiscCounters counters_;
  engine::PacketRing packets_;
  RandomStream random_;
  std::uint32_t weight_ = 0;     // Wlog
  std::uint64_t average_ = 0;    // << weight_
  std::int64_t count_ = -1;      // packets since the last mark
  std::uint64_t threshold_ = 0;  // the next mark comes when count x (average - min) is that large
  std::uint64_t spread_ = 0;     // (max - min) / probability
  Time_ps idle_since_ps_ = 0;    // kNever_ps: something waits
  Time_ps packet_time_ps_ = 0;   // avpkt at bandwidth
};

}  // namespace weft::fabric
