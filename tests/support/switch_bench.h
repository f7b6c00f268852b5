// One switch between scripted peers, with round numbers, so that a test computes by hand when what must leave. Port i
// has a cable to peer i, which is host port i; a peer sends what it was told to when its line is free and its class is
// not stopped, and notes what comes.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "fabric/switch.h"
#include "support/roce_record.h"

namespace weft::support {

inline constexpr std::uint8_t kClass3 = 1u << 3;
inline constexpr Time_ps kLine1086_ps = 1106 * 80;                         // a frame of 1,086 B on the line
inline constexpr Time_ps kPauseToSwitch_ps = 84 * 80 + ns(100) + ns(150);  // from a peer to what it stops

// 62 bytes of Ethernet, IPv4, UDP, BTH, ICRC and FCS around the payload; class `c` by DSCP and by PCP.
inline engine::Packet bench_packet(std::uint32_t to, std::uint32_t frame_B, std::uint8_t c = 0) {
  engine::Packet p;
  p.dst = to & engine::kPortMask;
  make_roce(p, wire::Opcode::kSendMiddle);
  p.payload_B = (frame_B <= 64 ? 0 : frame_B - 62) & engine::kPayloadMask;
  p.priority = c & 7u;
  p.tos = static_cast<std::uint8_t>(c << 5 | 2);  // DSCP 8c, ECT(0)
  p.udp_src_port = 0xc000;
  p.endpoint = 0x108;
  return p;
}

struct BenchOptions {
  BenchOptions() {
    model.cell_B = 100;
    model.cpu_packets_per_s = 100'000;
    qos.ingress_pool_B = 100'000'000;
    qos.egress_pool_B = 100'000'000;
    for (std::size_t dscp = 0; dscp < 64; ++dscp) qos.priority_of_dscp[dscp] = static_cast<std::uint8_t>(dscp / 8);
    table.group_of_edge.assign(2, fabric::kNoGroup);
  }
  // Class 3 with PFC and so much headroom, the pool all that may be held before XOFF.
  void make_lossless(std::int64_t headroom_bytes, std::int64_t pool_B) {
    qos.flow_control = fabric::FlowControl::kPfc;
    qos.pfc_receive_mask = 1u << 3;
    qos.groups[3].lossless = qos.queues[3].lossless = true;
    qos.groups[3].alpha_exponent = 7;
    qos.ingress_pool_B = pool_B;
    headroom_B = headroom_bytes;
  }

  std::uint32_t ports = 4;
  std::vector<std::int64_t> rates_bps;  // by port; 100 Gb/s where it says nothing
  Time_ps flight_ps = ns(100);
  Time_ps pipeline_ps = ns(400);
  Time_ps switch_response_ps = ns(150);
  Time_ps peer_response_ps = ns(200);
  std::uint32_t cut_through_B = 0;
  std::int64_t mtu_B = 9216;
  std::int64_t headroom_B = 0;
  fabric::SwitchModel model;
  fabric::SwitchQos qos;
  fabric::RoutingConfig routing;
  fabric::RouteTable table;  // of edge 1, behind which is host port `ports`
  std::vector<fabric::RouteEpoch> later_routes;
  std::vector<fabric::LinkChange> link_changes;
  bool record = false;
};

class Peer {
 public:
  struct Arrival {
    Time_ps left_ps;  // first bit at the switch's port
    engine::Packet packet;
  };
  struct SeenPause {
    Time_ps left_ps;
    Time_ps acted_ps;  // this peer's response time is over
    fabric::PauseRequest request;
  };

  explicit Peer(engine::Domain& domain) : domain_(domain), node_(domain.add_node({this, &Peer::run_hook})) {}
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  void attach(fabric::LinkDirection& out, fabric::LinkDirection& in) {
    out_ = &out;
    in_ = &in;
    pause_ = {fabric::FlowControl::kPfc, fabric::kAllClasses, in.timing().ps_per_byte};
  }
  std::uint32_t node() const { return node_; }

  // Not before `at_ps`, after what this class was told to send before.
  void send(Time_ps at_ps, const engine::Packet& packet, std::uint32_t count = 1) {
    for (std::uint32_t i = 0; i < count; ++i) {
      queues_[packet.priority].push_back({at_ps, packet});
      engine::Packet& queued = queues_[packet.priority].back().packet;
      queued.word = (queued.word & 0xff) | next_psn_++ << 8;
    }
    domain_.wake(node_, at_ps);
  }
  void send_pause(Time_ps at_ps, fabric::PauseRequest request) {
    pauses_out_.push_back({at_ps, fabric::pause_packet(fabric::FlowControl::kPfc, request, 0)});
    domain_.wake(node_, at_ps);
  }
  std::uint8_t obeys = 0xff;
  std::vector<Arrival> arrived;
  std::vector<SeenPause> pauses;
  std::vector<Time_ps> sent_ps;  // first bits of data
  std::vector<Time_ps> left_times() const {
    std::vector<Time_ps> list;
    for (const Arrival& each : arrived) list.push_back(each.left_ps);
    return list;
  }
  std::uint64_t arrived_B(std::uint32_t c) const {
    std::uint64_t sum = 0;
    for (const Arrival& each : arrived) {
      if (each.packet.priority == c) sum += fabric::line_B(each.packet) - fabric::kLineGap_B;
    }
    return sum;
  }

 private:
  struct Send {
    Time_ps at_ps;
    engine::Packet packet;
  };
  static Time_ps run_hook(void* self, Time_ps end_ps) { return static_cast<Peer*>(self)->run(end_ps); }
  // At one instant a frame starts before a pause is acted on: the worst for who sent the pause.
  Time_ps run(Time_ps end_ps) {
    for (;;) {
      std::deque<Send>* next = nullptr;
      Time_ps send_ps = kNever_ps;
      if (!pauses_out_.empty()) {
        next = &pauses_out_;
        send_ps = std::max(pauses_out_.front().at_ps, free_ps_);
      }
      for (std::size_t c = 0; c < queues_.size(); ++c) {
        if (queues_[c].empty() || (pause_.blocked() >> c & 1) != 0) continue;
        Time_ps at_ps = std::max(queues_[c].front().at_ps, std::max(free_ps_, released_ps_));
        if (at_ps >= send_ps) continue;
        next = &queues_[c];
        send_ps = at_ps;
      }
      Time_ps arrival_ps = in_->next_arrival_ps();
      Time_ps now_ps = std::min(std::min(send_ps, arrival_ps), pause_.next_expiry_ps());
      if (now_ps >= end_ps) return now_ps;
      if (send_ps == now_ps) {
        start(*next, now_ps);
      } else if (arrival_ps == now_ps) {
        arrive(now_ps);
      } else {
        pause_.expire(now_ps);
        released_ps_ = now_ps;
      }
    }
  }
  void start(std::deque<Send>& queue, Time_ps now_ps) {
    engine::Packet packet = queue.front().packet;
    queue.pop_front();
    if (&queue == &pauses_out_) {
      free_ps_ = now_ps + out_->send_pause(packet, now_ps);
      return;
    }
    sent_ps.push_back(now_ps);
    free_ps_ = now_ps + out_->send(packet, fabric::line_B(packet), now_ps);
  }
  void arrive(Time_ps now_ps) {
    const fabric::LinkTiming& timing = in_->timing();
    bool is_pause = in_->pause_is_next();
    engine::Packet packet = in_->take();
    if (is_pause) {
      fabric::PauseRequest request = fabric::PauseRequest::of(packet);
      Time_ps took_ps = fabric::kMinLine_B * timing.ps_per_byte + timing.flight_ps + timing.response_ps;
      pauses.push_back({now_ps - took_ps, now_ps, request});
      pause_.receive({static_cast<std::uint8_t>(request.xoff & obeys), request.xon, request.quanta}, now_ps);
      if (request.xon != 0) released_ps_ = now_ps;
      in_->received.count(fabric::Fate::kPause);
      return;
    }
    arrived.push_back({now_ps - in_->serialisation_ps(packet) - timing.flight_ps, packet});
    in_->received.count(fabric::Fate::kAccepted);
    domain_.release(packet);
  }

  engine::Domain& domain_;
  std::uint32_t node_;
  fabric::LinkDirection* out_ = nullptr;
  fabric::LinkDirection* in_ = nullptr;
  std::array<std::deque<Send>, 8> queues_;
  std::deque<Send> pauses_out_;
  fabric::TransmitControl pause_;
  Time_ps free_ps_ = 0;
  Time_ps released_ps_ = 0;  // a pause has ended: nothing that it held back starts earlier
  std::uint32_t next_psn_ = 0;
};

class SwitchBench {
 public:
  explicit SwitchBench(const BenchOptions& options) : options_(options) {
    fabric::SwitchSetup setup;
    setup.model = options.model;
    setup.qos = options.qos;
    setup.routing = options.routing;
    setup.seed = 1;
    setup.record = options.record;
    for (std::uint32_t p = 0; p < options.ports; ++p) {
      destinations_.push_back({0, static_cast<std::uint16_t>(p), 0x0a000001 + p});
      fabric::SwitchPortConfig port;
      port.port_id = 100 + p;
      port.rate_bps = rate_bps(p);
      port.mtu_B = options.mtu_B;
      port.headroom_B.fill(options.headroom_B);
      setup.ports.push_back(port);
    }
    destinations_.push_back({1, 0, 0x0a010001});
    setup.destinations = &destinations_;
    setup.routes.push_back({0, options.table});
    for (const fabric::RouteEpoch& epoch : options.later_routes) setup.routes.push_back(epoch);
    setup.link_changes = options.link_changes;
    engine_.set_formats(nic::packet_formats());
    engine::Domain& domain = engine_.domain(0);
    switch_ = std::make_unique<fabric::Switch>(std::move(setup), domain);
    for (std::uint32_t p = 0; p < options.ports; ++p) {
      peers_.push_back(std::make_unique<Peer>(domain));
      const Time_ps byte_ps = ps_per_byte(rate_bps(p));
      fabric::LinkTiming in{byte_ps, options.flight_ps, options.pipeline_ps, options.switch_response_ps,
                            options.cut_through_B};
      fabric::LinkTiming out{byte_ps, options.flight_ps, 0, options.peer_response_ps, 0};
      fabric::LinkDirection& to_switch = add_link(switch_->node(), in, switch_->inbox(p));
      fabric::LinkDirection& to_peer = add_link(peers_.back()->node(), out, {});
      switch_->attach(p, to_peer, to_switch);
      peers_.back()->attach(to_switch, to_peer);
    }
  }
  fabric::Switch& device() { return *switch_; }
  Peer& peer(std::uint32_t p) { return *peers_[p]; }
  engine::Domain& domain() { return engine_.domain(0); }
  fabric::LinkDirection& to_switch(std::uint32_t p) { return *links_[2 * p]; }
  fabric::LinkDirection& to_peer(std::uint32_t p) { return *links_[2 * p + 1]; }
  void run(Time_ps deadline_ps = kNever_ps) { engine_.run(deadline_ps); }

  // The first bit of a frame of `frame_B` left a peer at `start_ps`: when the switch handles it.
  Time_ps handled_ps(Time_ps start_ps, std::uint32_t frame_B, std::uint32_t port = 0) const {
    std::uint32_t seen_B = frame_B + 20;
    if (options_.cut_through_B != 0) seen_B = std::min(seen_B, options_.cut_through_B);
    return start_ps + seen_B * ps_per_byte(rate_bps(port)) + options_.flight_ps + options_.pipeline_ps;
  }
  // Everything ended once, on every link and in the switch.
  bool balances() {
    switch_->settle_ledgers();
    for (const auto& link : links_) {
      if (link->sent.sent + link->sent.copies != link->sent.ended() + link->received.ended() + link->in_flight())
        return false;
    }
    return switch_->balances();
  }

 private:
  std::int64_t rate_bps(std::uint32_t p) const {
    return p < options_.rates_bps.size() ? options_.rates_bps[p] : 100'000'000'000;
  }
  fabric::LinkDirection& add_link(std::uint32_t node, fabric::LinkTiming timing, engine::Inbox inbox) {
    Time_ps latency_ps = timing.flight_ps + std::min(timing.pipeline_ps, timing.response_ps);
    engine::LinkEnds ends = engine_.connect(0, 0, node, latency_ps, inbox);
    links_.push_back(std::make_unique<fabric::LinkDirection>(ends, &domain(), &domain(), timing));
    return *links_.back();
  }

  BenchOptions options_;
  engine::Engine engine_{1};
  fabric::Destinations destinations_;
  std::unique_ptr<fabric::Switch> switch_;
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<std::unique_ptr<fabric::LinkDirection>> links_;
};

}  // namespace weft::support
