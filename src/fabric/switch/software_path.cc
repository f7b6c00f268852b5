#include "fabric/switch/software_path.h"

#include <algorithm>

#include "base/check.h"

namespace weft::fabric {

using engine::Packet;
using engine::PacketBody;

namespace {

constexpr std::uint32_t kFcs_B = 4;  // no part of what the kernel handles
constexpr std::uint32_t kRssSeed = 0x6d5a56da;

std::uint32_t kernel_length_B(const PacketBody& packet) {
  return line_B(packet) - kLineGap_B - kFcs_B;
}

}  // namespace

SoftwarePath::SoftwarePath(const SwitchSetup& setup, std::vector<SwitchPort>& ports, SwitchTimers& timers,
                           SwitchRecords& records)
    : setup_(setup), ports_(ports), timers_(timers), records_(records), forwarder_(make(setup)) {}

Forwarder SoftwarePath::make(const SwitchSetup& setup) {
  WEFT_CHECK(setup.forwarder && setup.forwarder->ports.size() == setup.ports.size(),
             "a forwarder has as many ports as its switch");
  std::vector<std::uint32_t> ids;
  for (const SwitchPortConfig& port : setup.ports) ids.push_back(port.port_id);
  return Forwarder(*setup.forwarder, ids, setup.seed);
}

void SoftwarePath::receive(std::uint32_t in, const Packet& packet, Time_ps now_ps) {
  const std::uint32_t cores = forwarder_.cores();
  const std::uint32_t core =
      cores == 1 ? 0 : pick(ecmp_hash(packet, setup_.destinations->data(), false, ecmp_seed(kRssSeed)), cores);
  Time_ps interrupt_ps = kNever_ps;
  if (!forwarder_.receive(in, core, packet, now_ps, interrupt_ps)) {
    records_.drop(packet, in, kNoPort, 0, Fate::kRxRingFull, now_ps);
  } else if (interrupt_ps != kNever_ps) {
    timers_.add(interrupt_ps, TimerKind::kInterrupt, forwarder_.queue(in, core));
  }
}

void SoftwarePath::run_interrupt(std::uint32_t queue, Time_ps now_ps) {
  const Time_ps done_ps = forwarder_.on_interrupt(queue, now_ps);
  if (done_ps != kNever_ps) timers_.add(done_ps, TimerKind::kSoftirq, queue % forwarder_.cores());
}

void SoftwarePath::run_softirq(std::uint32_t core, Packet& packet, std::uint32_t& in, Time_ps now_ps) {
  const Time_ps done_ps = forwarder_.on_packet(core, packet, in, now_ps);
  if (done_ps != kNever_ps) timers_.add(done_ps, TimerKind::kSoftirq, core);
}

bool SoftwarePath::enqueue(std::uint32_t in, std::uint32_t out, PacketBody& packet, Time_ps now_ps) {
  Fate reason = Fate::kPortDown;
  if (ports_[out].reject == 0) {
    switch (forwarder_.tx(out).qdisc.enqueue(packet, in, kernel_length_B(packet), now_ps)) {
      case Qdisc::Verdict::kQueued:
        return true;
      case Qdisc::Verdict::kEarlyDrop:
        reason = Fate::kWred;
        break;
      case Qdisc::Verdict::kOverLimit:
        reason = Fate::kTailDrop;
        break;
    }
  }
  records_.drop(packet, in, out, 0, reason, now_ps);
  return false;
}

bool SoftwarePath::next(std::uint32_t out, Packet& packet, Time_ps now_ps) {
  Forwarder::TxPort& tx = forwarder_.tx(out);
  if (tx.qdisc.empty()) return false;
  if (tx.limit.full()) {
    // The packet is out of the queue already when the kernel finds the port stopped, and goes back.
    if (tx.is_stopped) return false;
    tx.qdisc.requeued();
    ++tx.stopped;
    tx.is_stopped = true;
    return false;
  }
  packet = tx.qdisc.front();
  const std::uint32_t length_B = kernel_length_B(packet);
  tx.qdisc.pop(length_B, now_ps);
  tx.limit.queued(length_B + kFcs_B);
  tx.posted_B += length_B + kFcs_B;
  return true;
}

void SoftwarePath::posted(std::uint32_t out, Time_ps now_ps) {
  Forwarder::TxPort& tx = forwarder_.tx(out);
  if (tx.completion_ps != kNever_ps) return;
  tx.completion_ps = forwarder_.completion_ps(tx, std::max(now_ps, ports_[out].free_ps));
  timers_.add(tx.completion_ps, TimerKind::kTxCompletion, out);
}

void SoftwarePath::complete(std::uint32_t out, Time_ps now_ps) {
  Forwarder::TxPort& tx = forwarder_.tx(out);
  const std::uint64_t waiting_B = ports_[out].waiting_B();
  WEFT_CHECK(tx.posted_B >= waiting_B && tx.posted_B - waiting_B >= tx.completed_B,
             "the TX ring completes what was posted, once");
  const std::uint64_t done_B = tx.posted_B - waiting_B;
  tx.completion_ps = kNever_ps;
  tx.limit.completed(done_B - tx.completed_B, now_ps);
  tx.completed_B = done_B;
  tx.max_limit_B = std::max(tx.max_limit_B, tx.limit.limit_B());
  if (!tx.limit.full()) tx.is_stopped = false;
}

void SoftwarePath::plan_completion(std::uint32_t out, Time_ps now_ps) {
  if (forwarder_.tx(out).limit.in_flight_B() > 0) posted(out, now_ps);
}

}  // namespace weft::fabric
