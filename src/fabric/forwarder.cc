#include "fabric/forwarder.h"

#include <algorithm>

#include "base/check.h"

namespace weft::fabric {

using engine::Packet;

namespace {

// Between nothing and twice the mean, most often near it.
Time_ps draw(RandomStream& random, Time_ps mean_ps) {
  return static_cast<Time_ps>(random.below(static_cast<std::uint64_t>(mean_ps)) +
                              random.below(static_cast<std::uint64_t>(mean_ps))) +
         1;
}

}  // namespace

Forwarder::Forwarder(const ForwarderConfig& config, const std::vector<std::uint32_t>& port_ids, std::uint64_t seed)
    : model_(config.model), cores_(config.model.cores) {
  const auto has_red = [](const ForwarderPort& port) { return port.qdisc.kind == QdiscKind::kRed; };
  const auto reds = std::count_if(config.ports.begin(), config.ports.end(), has_red);
  for (std::size_t p = 0; p < config.ports.size(); ++p) {
    const bool by_red = reds > (has_red(config.ports[p]) ? 1 : 0);
    costs_ps_.push_back(model_.packet_cost_ps + (by_red ? model_.red_cost_ps : 0));
    rings_.push_back(config.ports[p].rx_ring);
    for (std::uint32_t c = 0; c < model_.cores; ++c) queues_.emplace_back();
    TxPort& port = tx_.emplace_back(config.ports[p].qdisc, seed, port_ids[p]);
    if (model_.tx_stall_interval_ps > 0) port.stall_ps = draw(port.stalls, model_.tx_stall_interval_ps);
  }
}

bool Forwarder::receive(std::uint32_t port, std::uint32_t core, const Packet& packet, Time_ps now_ps,
                        Time_ps& interrupt_ps) {
  RxQueue& queue = queues_[this->queue(port, core)];
  interrupt_ps = kNever_ps;
  if (queue.used >= rings_[port]) {
    ++queue.counters.rx_out_of_buffer;
    return false;
  }
  ++queue.used;
  WEFT_CHECK(queue.used <= rings_[port] && queue.packets.size() < queue.used,
             "a descriptor for each packet in the ring");
  ++queue.counters.rx_packets;
  queue.counters.max_ring = std::max(queue.counters.max_ring, queue.used);
  queue.packets.push(packet);
  if (queue.scheduled) return true;
  ++queue.pending;
  Time_ps at_ps = now_ps + model_.interrupt_latency_ps;
  if (queue.pending < model_.rx_frames) at_ps += model_.rx_usecs_ps;
  if (at_ps < queue.interrupt_ps) queue.interrupt_ps = interrupt_ps = at_ps;
  return true;
}

Time_ps Forwarder::on_interrupt(std::uint32_t q, Time_ps now_ps) {
  RxQueue& queue = queues_[q];
  if (queue.scheduled || queue.interrupt_ps != now_ps) return kNever_ps;
  queue.scheduled = true;
  queue.interrupt_ps = kNever_ps;
  queue.pending = 0;
  ++queue.counters.interrupts;
  Core& core = cores_[q % cores_.size()];
  core.polls.push_back(q);
  if (core.busy) return kNever_ps;
  return start(core, now_ps);
}

// The next packet of the poll that is first.
Time_ps Forwarder::start(Core& core, Time_ps now_ps) {
  core.busy = !core.polls.empty();
  if (!core.busy) {
    core.budget = 0;
    return kNever_ps;
  }
  const Time_ps cost_ps = costs_ps_[core.polls.front() / cores()];
  core.counters.busy_ps += cost_ps;
  return now_ps + cost_ps;
}

Time_ps Forwarder::on_packet(std::uint32_t c, Packet& packet, std::uint32_t& port, Time_ps now_ps) {
  Core& core = cores_[c];
  WEFT_CHECK(core.busy && !core.polls.empty(), "a CPU that polls has a queue");
  const std::uint32_t q = core.polls.front();
  RxQueue& queue = queues_[q];
  WEFT_CHECK(!queue.packets.empty() && queue.scheduled, "a queue that is polled has a packet");
  packet = queue.packets.front();
  port = q / cores();
  queue.packets.pop();
  ++core.counters.packets;
  ++core.polled;
  ++core.budget;
  if (core.polled < model_.napi_weight && !queue.packets.empty()) return start(core, now_ps);
  // The poll ends: descriptors go back to the NIC, and the queue to the end of the list or to interrupts.
  ++queue.counters.polls;
  WEFT_CHECK(queue.used >= core.polled && queue.used - core.polled == queue.packets.size(),
             "a poll gives back the descriptors of its packets");
  queue.used -= core.polled;
  core.polled = 0;
  core.polls.pop_front();
  if (queue.packets.empty()) {
    queue.scheduled = false;
  } else {
    core.polls.push_back(q);
  }
  if (core.budget >= model_.netdev_budget && !core.polls.empty()) {
    ++core.counters.time_squeeze;
    core.budget = 0;
    now_ps += model_.softirq_resume_ps;
  }
  return start(core, now_ps);
}

Time_ps Forwarder::completion_ps(TxPort& port, Time_ps now_ps) {
  Time_ps at_ps = now_ps + model_.tx_usecs_ps;
  if (at_ps < port.stall_ps) return at_ps;
  const Time_ps end_ps = port.stall_ps + draw(port.stalls, model_.tx_stall_ps);
  at_ps = std::max(at_ps, end_ps);
  port.stall_ps = at_ps + draw(port.stalls, model_.tx_stall_interval_ps);
  return at_ps;
}

std::uint64_t Forwarder::held() const {
  std::uint64_t packets = 0;
  for (const RxQueue& queue : queues_) packets += queue.packets.size();
  for (const TxPort& port : tx_) packets += port.qdisc.counters().backlog_packets;
  return packets;
}

ForwarderPortCounters Forwarder::counters(std::uint32_t port) const {
  ForwarderPortCounters sum;
  for (std::uint32_t c = 0; c < cores(); ++c) {
    const ForwarderPortCounters& each = queues_[queue(port, c)].counters;
    sum.rx_packets += each.rx_packets;
    sum.rx_out_of_buffer += each.rx_out_of_buffer;
    sum.interrupts += each.interrupts;
    sum.polls += each.polls;
    sum.max_ring = std::max(sum.max_ring, each.max_ring);
  }
  const TxPort& tx = tx_[port];
  sum.qdisc = tx.qdisc.counters();
  sum.tx_stopped = tx.stopped;
  sum.max_limit_B = tx.max_limit_B;
  return sum;
}

}  // namespace weft::fabric
