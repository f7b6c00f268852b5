// Two NIC ports and one cable, driven by scripts: what unit tests of the NIC need and nothing of the host. Every frame
// that leaves a port is recorded with its headers and payload.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "fabric/link.h"
#include "fabric/link_wrapper.h"
#include "nic/device.h"
#include "nic/transports/roce_packet.h"
#include "nic/transports/transport.h"
#include "support/bytes.h"
#include "support/models.h"

namespace weft::support {

inline constexpr Time_ps kFlight_ps = us(1);
inline constexpr std::uint64_t kVa[2] = {0x10'0000, 0x20'0000};  // where each side's memory begins
inline constexpr std::size_t kMemory_B = 1 << 21;

struct Frame {
  Time_ps time_ps = 0;  // first bit leaves the port
  engine::Packet packet;
  nic::RoceExtension cold;  // extension headers
  std::uint32_t aeth = 0;
  std::vector<std::uint8_t> payload;

  wire::Opcode opcode() const { return nic::opcode_of(packet); }
  std::uint32_t psn() const { return nic::psn_of(packet); }
  bool ack_req() const { return (packet.word & nic::kAckReq) != 0; }
  bool retransmission() const { return (packet.flags & engine::Packet::kRetransmission) != 0; }
  std::uint8_t syndrome() const { return static_cast<std::uint8_t>(aeth >> 24); }
  std::uint32_t msn() const { return aeth & 0xffffff; }
};

struct PairOptions {
  nic::NicModel model[2] = {test_nic(), test_nic()};
  std::vector<fabric::FaultRule> faults[2];  // of what leaves side 0, side 1
  std::uint64_t seed = 1;
  std::uint32_t domains = 1;
  const engine::PacketFormats* formats = &nic::packet_formats();
  nic::PortQos qos[2];
  Time_ps pause_response_ps = ns(300);
  std::function<void(std::uint32_t side, nic::DeviceConfig&)> tune;  // for what has no option here
};

// One port: the loop of a host without CPUs, and a script.
class Node {
 public:
  Node(engine::Domain& domain, std::uint32_t port) : port_(port), node_(domain.add_node({this, &Node::run_hook})) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void attach(engine::Domain& domain, const PairOptions& options, fabric::LinkDirection& out,
              fabric::LinkDirection& in) {
    domain_ = &domain;
    const nic::NicModel& model = options.model[port_];
    nic::PcieLink pcie{model.pcie_generation, model.pcie_lanes, model.pcie_max_payload_B};
    card_.functions.emplace_back(pcie);
    nic::DeviceConfig config;
    config.model = model;
    config.name = "mlx5_0";
    config.port_id = port_;
    config.seed = options.seed;
    config.qos = options.qos[port_];
    config.carry_payload = true;
    config.host = {ns(100), ns(200), ns(100), 0, this, [](void*, std::uint32_t, Time_ps) {}, &Node::write_hook};
    config.host.on_async = &Node::async_hook;
    if (options.tune) options.tune(port_, config);
    device_ = std::make_unique<nic::Device>(std::move(config), card_, out, in);
    bytes_.resize(kMemory_B);
    fill_pattern(bytes_, port_ * kMemory_B);
    key = device_->memory().add(kVa[port_], kMemory_B, {true, true, true, true}, bytes_);
    send_cq = device_->create_cq(4096);
    receive_cq = device_->create_cq(4096);
  }
  void at(Time_ps time_ps, std::function<void()> action) {
    script_.push_back({time_ps, std::move(action)});
    std::stable_sort(script_.begin(), script_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    plan();
    domain_->wake(node_, time_ps);
  }
  std::uint32_t node() const { return node_; }
  nic::Device& device() { return *device_; }
  std::vector<std::uint8_t>& bytes() { return bytes_; }
  std::uint64_t va() const { return kVa[port_]; }
  std::vector<nic::Completion> poll(std::uint32_t cq) {
    std::vector<nic::Completion> found;
    while (const nic::Completion* completion = device_->cq(cq).peek(kNever_ps)) {
      found.push_back(*completion);
      device_->cq(cq).pop();
    }
    return found;
  }

  std::uint32_t key = 0, send_cq = 0, receive_cq = 0;
  struct Event {
    nic::AsyncKind kind;
    std::uint32_t number;
    Time_ps time_ps;
  };
  std::vector<Event> events;          // asynchronous
  std::vector<std::uint32_t> writes;  // keys of watched regions that were written

 private:
  static Time_ps run_hook(void* self, Time_ps end_ps) { return static_cast<Node*>(self)->run(end_ps); }
  static void write_hook(void* self, std::uint32_t key, Time_ps) { static_cast<Node*>(self)->writes.push_back(key); }
  static void async_hook(void* self, nic::AsyncKind kind, std::uint32_t number, Time_ps now_ps) {
    if (nic::is_internal(kind)) return;
    static_cast<Node*>(self)->events.push_back({kind, number, now_ps});
  }
  Time_ps run(Time_ps end_ps) {
    for (;;) {
      device_->run_until(end_ps, &script_ps_);
      if (script_ps_ >= end_ps) return std::min(device_->next_ps(), script_ps_);
      std::function<void()> action = std::move(script_.front().second);
      script_.erase(script_.begin());
      plan();
      action();
    }
  }
  void plan() { script_ps_ = script_.empty() ? kNever_ps : script_.front().first; }

  std::uint32_t port_;
  std::uint32_t node_;
  engine::Domain* domain_ = nullptr;
  nic::Card card_;
  std::unique_ptr<nic::Device> device_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::pair<Time_ps, std::function<void()>>> script_;
  Time_ps script_ps_ = kNever_ps;  // of its next action
};

class Pair {
 public:
  explicit Pair(PairOptions options = {}) : engine_(options.domains) {
    engine_.set_formats(*options.formats);
    for (std::uint32_t side = 0; side < 2; ++side) {
      nodes_[side] = std::make_unique<Node>(engine_.domain(side % options.domains), side);
    }
    for (std::uint32_t from = 0; from < 2; ++from) {
      std::uint32_t to = 1 - from;
      fabric::LinkTiming timing{80, kFlight_ps, options.model[to].rx_latency_ps, options.pause_response_ps, 0};
      engine::Domain& source = engine_.domain(from % options.domains);
      engine::Domain& destination = engine_.domain(to % options.domains);
      engine::LinkEnds ends = engine_.connect(from % options.domains, to % options.domains, nodes_[to]->node(),
                                              timing.flight_ps + std::min(timing.pipeline_ps, timing.response_ps));
      links_[from] = std::make_unique<fabric::LinkDirection>(ends, &source, &destination, timing);
      wrappers_[from] = std::make_unique<fabric::LinkWrapper>(options.faults[from], options.seed, from, to, 0.0);
      wrappers_[from]->add_send_tap({&sent_[from], &Pair::record});
      links_[from]->wrap(wrappers_[from].get());
    }
    for (std::uint32_t side = 0; side < 2; ++side) {
      nodes_[side]->attach(engine_.domain(side % options.domains), options, *links_[side], *links_[1 - side]);
    }
  }

  Node& node(std::uint32_t side) { return *nodes_[side]; }
  nic::Device& device(std::uint32_t side) { return nodes_[side]->device(); }
  const nic::Counters& counters(std::uint32_t side) { return device(side).counters(); }
  fabric::LinkDirection& link(std::uint32_t from) { return *links_[from]; }
  engine::Engine& engine() { return engine_; }
  // Frames that left a side, in order; those that a fault dropped are among them.
  const std::vector<Frame>& sent(std::uint32_t from) const { return sent_[from]; }
  void run(Time_ps deadline_ps = kNever_ps) { engine_.run(deadline_ps); }

  bool ledger_balances() {
    return std::all_of(links_.begin(), links_.end(), [](const auto& l) {
      return l->sent.sent + l->sent.copies == l->sent.ended() + l->received.ended() + l->in_flight();
    });
  }
  // Nothing is left in the packet pools of any domain.
  std::uint32_t slots_in_use() {
    std::uint32_t count = 0;
    for (std::uint32_t d = 0; d < engine_.domain_count(); ++d) {
      count += engine_.domain(d).cold.in_use() + engine_.domain(d).payload.in_use();
    }
    return count;
  }

 private:
  static void record(void* self, const fabric::TapFrame& seen) {
    const engine::Packet& packet = seen.packet;
    Frame frame{seen.time_ps, packet, {}, packet.aux, {}};
    if (packet.flags & engine::Packet::kHasCold) {
      const engine::Cold& cold = seen.domain.cold[packet.aux];
      frame.cold = nic::extension_of(cold);
      frame.aeth = cold.aux;
      if (cold.payload != engine::kNoSlot) {
        const engine::PayloadSlot& bytes = seen.domain.payload[cold.payload];
        frame.payload.assign(bytes.begin(), bytes.begin() + packet.payload_B);
      }
    }
    static_cast<std::vector<Frame>*>(self)->push_back(std::move(frame));
  }

  engine::Engine engine_;
  std::unique_ptr<Node> nodes_[2];
  std::array<std::unique_ptr<fabric::LinkDirection>, 2> links_;
  std::unique_ptr<fabric::LinkWrapper> wrappers_[2];
  std::vector<Frame> sent_[2];
};

}  // namespace weft::support
