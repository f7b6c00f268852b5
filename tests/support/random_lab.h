// Random small labs with switches, from a seed and nothing else: topology, buffers, quality of service, faults and
// flows, steered so that pauses, marks, drops, reroutes and watchdog storms are all common. Built in the checked model
// and resolved by the lab reader's own functions, so that what runs is what a file would have said.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "model/lab.h"
#include "model/qos_contract.h"
#include "model/workloads/flow_patterns.h"
#include "support/dice.h"
#include "support/headroom_path.h"
#include "support/models.h"

namespace weft::support {

class RandomLab {
 public:
  explicit RandomLab(std::uint64_t seed) : dice_(seed, 1) { lab_.seed = seed; }

  // Of flows alone.
  lab::Lab make() { return draw(); }
  // Of anything: also transfers, perftest and iperf3, go-back-N and selective repeat, telemetry, LAGs, software
  // forwarders and static routes, and longer. For runs of whole labs.
  lab::Lab make_wide() {
    wide_ = true;
    size_scale_ = 10;
    return draw();
  }

 private:
  static constexpr std::int64_t kGbps = 1'000'000'000;

  bool wide_chance(int percent) { return wide_ && dice_.chance(percent); }

  lab::Lab draw() {
    lab_.name = fmt::format("random-{}", lab_.seed);
    lab_.duration_ps = us(dice_.pick(600, 2500)) * (wide_ ? 4 : 1);
    draw_contract();
    draw_topology();
    resolve_qos();
    if (wide_) draw_forwarder();
    draw_workloads();
    draw_faults();
    if (wide_) draw_more_workloads();
    return std::move(lab_);
  }

  // Quality of service.
  void draw_contract() {
    fabric::SwitchQos& qos = contract_.device;
    qos.trust = dice_.chance(20) ? fabric::Trust::kPcp : fabric::Trust::kDscp;
    qos.priority_of_dscp[26] = 3;
    qos.priority_of_dscp[34] = 4;
    qos.priority_of_dscp[48] = 6;
    qos.flow_control =
        dice_.one_of({fabric::FlowControl::kPfc, fabric::FlowControl::kPfc, fabric::FlowControl::kPfc,
                      fabric::FlowControl::kPfc, fabric::FlowControl::kPause, fabric::FlowControl::kNone});
    contract_.lossless_priorities = dice_.one_of<std::uint8_t>({0x08, 0x08, 0x18});
    if (qos.flow_control == fabric::FlowControl::kNone) contract_.lossless_priorities = 0;
    qos.pause_quanta = static_cast<std::uint16_t>(dice_.chance(60) ? 0xffff : dice_.pick(60, 2000));
    for (std::size_t c : {std::size_t{3}, std::size_t{4}}) {
      qos.groups[c].alpha_exponent = static_cast<std::int8_t>(dice_.pick(-3, 2));
      if (dice_.chance(20)) qos.queue_of_priority[c] = static_cast<std::uint8_t>(dice_.pick(0, 5));
      fabric::QueueConfig& queue = qos.queues[qos.queue_of_priority[c]];
      queue.scheduling = dice_.chance(20) ? fabric::Scheduling::kStrict : fabric::Scheduling::kDwrr;
      queue.weight = static_cast<std::uint32_t>(dice_.pick(1, 8));
      queue.alpha_exponent = static_cast<std::int8_t>(dice_.pick(-3, 2));
      if (dice_.chance(60)) queue.ecn = any_ramp();
      contract_.groups[c].reserved_B = dice_.chance(50) ? 0 : dice_.pick(0, 10'000);
      contract_.groups[c].xon_B = dice_.pick(0, 10'000);
      contract_.groups[c].xon_offset_B = dice_.chance(30) ? 0 : dice_.pick(0, 10'000);
    }
    qos.queues[6].scheduling = fabric::Scheduling::kStrict;
    if (dice_.chance(10)) contract_.headroom_pool_B = dice_.pick(20'000, 300'000);
    if (dice_.chance(65)) {
      qos.watchdog.enabled = true;
      qos.watchdog.poll_ps = us(dice_.pick(10, 30));
      qos.watchdog.detection_ps = qos.watchdog.poll_ps * dice_.pick(1, 3);
      qos.watchdog.restoration_ps = qos.watchdog.poll_ps * dice_.pick(1, 4);
      qos.watchdog.action = dice_.one_of(
          {fabric::WatchdogAction::kDrop, fabric::WatchdogAction::kForward, fabric::WatchdogAction::kAlert});
    }
    nic::PortQos& host = contract_.host;
    host.congestion.kind =
        dice_.one_of({nic::CongestionKind::kOff, nic::CongestionKind::kDcqcn, nic::CongestionKind::kDcqcn,
                      nic::CongestionKind::kHpcc, nic::CongestionKind::kTimely, nic::CongestionKind::kSwift});
    host.congestion.dcqcn = dice_.chance(50) ? nic::dcqcn_mlx5() : nic::dcqcn_paper();
  }

  fabric::EcnRamp any_ramp() {
    fabric::EcnRamp ramp;
    ramp.enabled = true;
    ramp.min_B = dice_.pick(0, 20'000);
    ramp.max_B = ramp.min_B + dice_.pick(1, 60'000);
    ramp.probability_ppb = static_cast<std::uint32_t>(dice_.pick(1, 1'000'000'000));
    ramp.weight_exponent = static_cast<std::uint8_t>(dice_.chance(70) ? 0 : dice_.pick(1, 5));
    ramp.drops_not_ect = dice_.chance(50);
    ramp.at_enqueue = dice_.chance(50);
    return ramp;
  }

  fabric::SwitchModel any_switch_model() {
    fabric::SwitchModel model;
    model.name = "test-switch";
    model.oui = "02:00:01";
    model.port_prefix = "swp";
    model.cell_B = dice_.one_of({80U, 144U, 208U, 254U});
    model.buffer_split = dice_.one_of({fabric::BufferSplit::kShared, fabric::BufferSplit::kShared,
                                       fabric::BufferSplit::kIngressPipe, fabric::BufferSplit::kPipePair});
    model.pipes = dice_.one_of({2U, 4U});
    model.buffer_slices = model.buffer_split == fabric::BufferSplit::kPipePair ? 4 : 2;
    model.cut_through = dice_.chance(50);
    model.pipeline_ps = ns(dice_.pick(100, 800));
    model.port_latency_ps = ns(dice_.pick(20, 100));
    model.pfc_response_ps = ns(dice_.pick(20, 900));
    model.max_mtu_B = 9216;
    model.cpu_packets_per_s = 200'000;
    return model;
  }

  // Topology.
  void draw_topology() {
    const std::int64_t kind = dice_.pick(0, 3);
    const auto hosts = static_cast<std::uint32_t>(dice_.pick(kind == 0 ? 2 : 4, 12));
    trunk_bps_ = dice_.one_of({25 * kGbps, 100 * kGbps, 100 * kGbps});
    model_ = any_switch_model();
    std::vector<std::uint32_t> edges;
    if (kind == 0) {
      edges = {add_switch(0)};
    } else if (kind == 1) {
      const auto leaves = static_cast<std::uint32_t>(dice_.pick(2, 3));
      const auto spines = static_cast<std::uint32_t>(dice_.pick(1, 3));
      for (std::uint32_t i = 0; i < leaves; ++i) edges.push_back(add_switch(0));
      for (std::uint32_t i = 0; i < spines; ++i) {
        const std::uint32_t spine = add_switch(1);
        for (std::uint32_t leaf : edges) join_switches(leaf, spine);
      }
    } else if (kind == 2) {
      const auto size = static_cast<std::uint32_t>(dice_.pick(3, 5));
      for (std::uint32_t i = 0; i < size; ++i) edges.push_back(add_switch(0));
      for (std::uint32_t i = 0; i < size; ++i) join_switches(edges[i], edges[(i + 1) % size]);
    } else {
      const std::uint32_t cores[] = {add_switch(2), add_switch(2)};
      for (int pod = 0; pod < 2; ++pod) {
        const std::uint32_t aggregation[] = {add_switch(1), add_switch(1)};
        for (int i = 0; i < 2; ++i) {
          edges.push_back(add_switch(0));
          for (std::uint32_t up : aggregation) join_switches(edges.back(), up);
          join_switches(aggregation[i], cores[i]);
        }
      }
    }
    if (!trunks_.empty() && wide_chance(25)) add_lag();
    const bool selective_repeat = wide_chance(30);
    const bool jumbo = dice_.chance(40);
    const bool mixed = dice_.chance(20);
    const bool v4 = dice_.chance(85);
    const bool routed = dice_.chance(40);
    const bool tagged = contract_.device.trust == fabric::Trust::kPcp;
    for (std::uint32_t h = 0; h < hosts; ++h) {
      const std::uint32_t edge = edges[h % edges.size()];
      lab::HostConfig host;
      host.name = fmt::format("h{}", h);
      host.model = test_host();
      if (wide_) add_tcp_costs(host.model);
      lab::NicConfig nic;
      nic.model = any_nic();
      nic.model.selective_repeat = selective_repeat;
      lab::PortConfig port;
      port.name = "p0";
      port.netdev_mtu_B = (mixed ? dice_.chance(50) : jumbo) ? 4200 : 1500;
      lab::parse_address(v4 ? fmt::format("10.0.{}.{}/24", routed ? edge : 0, h + 1)
                            : fmt::format("fd00:{:x}::{:x}/64", routed ? edge : 0, h + 1),
                         port.address, port.prefix_bits);
      if (tagged) port.vlan = 100;
      nic.ports.push_back(port);
      host.nics.push_back(nic);
      lab_.hosts.push_back(host);
      lab::LinkConfig link = any_cable();
      link.rate_bps = nic.model.line_rate_bps;
      link.a = {h, 0, 0};
      link.b = next_port(edge);
      lab_.links.push_back(link);
    }
    fabric::RoutingConfig routing;
    routing.balancing = dice_.one_of({fabric::Balancing::kEcmp, fabric::Balancing::kEcmp, fabric::Balancing::kFlowlet,
                                      fabric::Balancing::kAdaptive, fabric::Balancing::kSpray});
    routing.hash_dest_qp = dice_.chance(50);
    routing.flowlet_gap_ps = us(dice_.pick(1, 50));
    routing.convergence_ps = us(dice_.pick(5, 100));
    routing.cpu_forwarding = routed && dice_.chance(5);
    for (lab::SwitchConfig& device : lab_.switches) {
      device.routing = routing;
      device.routing.hash_seed = device.tier * 10;
    }
  }

  nic::NicModel any_nic() {
    nic::NicModel model = test_nic();
    model.line_rate_bps = dice_.one_of({25 * kGbps, 100 * kGbps});
    model.ack_interval_packets = dice_.one_of({1U, 4U, 16U});
    model.pfc_response_ps = ns(dice_.pick(20, 900));
    model.rx_pause_xoff_B = 60'000;
    model.rx_pause_xon_B = 30'000;
    model.rx_buffer_B = 200'000;
    model.cnp_scope =
        dice_.one_of({nic::CnpScope::kPort, nic::CnpScope::kDestinationAddress, nic::CnpScope::kQueuePair});
    return model;
  }

  std::uint32_t add_switch(std::uint32_t tier) {
    lab::SwitchConfig device;
    device.name = fmt::format("s{}", lab_.switches.size());
    device.model = model_;
    device.tier = tier;
    lab_.switches.push_back(device);
    return static_cast<std::uint32_t>(lab_.switches.size() - 1);
  }

  lab::PortRef next_port(std::uint32_t device) {
    std::vector<lab::SwitchPort>& ports = lab_.switches[device].ports;
    lab::SwitchPort port;
    port.name = fmt::format("swp{}", ports.size() + 1);
    port.mtu_B = dice_.chance(1) ? 1000 : 9216;
    ports.push_back(port);
    return {device, lab::PortRef::kSwitch, static_cast<std::uint32_t>(ports.size() - 1)};
  }

  void join_switches(std::uint32_t a, std::uint32_t b) {
    lab::LinkConfig link = any_cable();
    link.rate_bps = trunk_bps_;
    link.a = next_port(a);
    link.b = next_port(b);
    trunks_.push_back(lab_.links.size());
    lab_.links.push_back(link);
  }

  static void add_tcp_costs(host::HostModel& model) {
    model.tcp_send_KiB_ps = model.tcp_receive_KiB_ps = ns(100);
    model.tcp_remote_KiB_ps = ns(50);
    model.tcp_send_skb_ps = model.tcp_receive_skb_ps = us(2);
    model.tcp_receive_packet_ps = model.tcp_ack_ps = ns(300);
  }

  // A second cable beside one between switches.
  void add_lag() {
    const std::size_t first = trunks_[static_cast<std::size_t>(pick_one(trunks_.size()))];
    join_switches(lab_.links[first].a.host, lab_.links[first].b.host);
    lab_.lags.push_back(
        {"lag0", {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(lab_.links.size() - 1)}});
  }

  // One of the switches forwards by a CPU, quick enough that it is not all that limits, or slow.
  void draw_forwarder() {
    if (!dice_.chance(15)) return;
    lab::SwitchConfig& device = lab_.switches[static_cast<std::size_t>(pick_one(lab_.switches.size()))];
    fabric::ForwarderModel model;
    model.name = "test-bridge";
    model.cores = static_cast<std::uint32_t>(dice_.pick(1, 4));
    model.packet_cost_ps = ns(dice_.pick(50, 1500));
    model.red_cost_ps = ns(dice_.pick(0, 200));
    model.rx_usecs_ps = us(dice_.pick(0, 8));
    model.rx_frames = static_cast<std::uint32_t>(dice_.pick(1, 64));
    model.interrupt_latency_ps = ns(dice_.pick(100, 2000));
    model.napi_weight = static_cast<std::uint32_t>(dice_.pick(1, 64));
    model.netdev_budget = static_cast<std::uint32_t>(dice_.pick(1, 300));
    model.softirq_resume_ps = us(dice_.pick(0, 5));
    model.tx_usecs_ps = us(dice_.pick(1, 8));
    if (dice_.chance(30)) model.tx_stall_interval_ps = us(dice_.pick(50, 500));
    if (model.tx_stall_interval_ps > 0) model.tx_stall_ps = us(dice_.pick(1, 50));
    fabric::ForwarderPort port;
    port.rx_ring = static_cast<std::uint32_t>(dice_.pick(8, 1024));
    port.qdisc.limit = dice_.pick(2, 1000);
    if (dice_.chance(50)) {
      port.qdisc.kind = fabric::QdiscKind::kRed;
      port.qdisc.avpkt_B = 1500;
      port.qdisc.min_B = dice_.pick(10'000, 60'000);
      port.qdisc.max_B = 3 * port.qdisc.min_B;
      port.qdisc.limit = 4 * port.qdisc.max_B;
      port.qdisc.probability_ppb = static_cast<std::uint32_t>(dice_.pick(1, 1'000'000'000));
      port.qdisc.bandwidth_bps = 10 * kGbps;
      port.qdisc.ecn = dice_.chance(70);
      port.qdisc.burst = fabric::red_default_burst(port.qdisc);
    }
    device.forwarder = {model, std::vector<fabric::ForwarderPort>(device.ports.size(), port)};
    device.model.cell_B = 1;
    device.model.buffer_split = fabric::BufferSplit::kShared;
    device.model.buffer_slices = device.model.pipes = 1;
    device.model.cut_through = false;
    device.qos.flow_control = fabric::FlowControl::kNone;
    device.qos.pfc_receive_mask = 0;
    device.qos.watchdog.enabled = false;
    device.qos.ingress_pool_B = device.qos.egress_pool_B = std::int64_t{1} << 30;
    for (std::size_t c = 0; c < fabric::kClasses; ++c)
      device.qos.groups[c].lossless = device.qos.queues[c].lossless = false;
  }

  lab::LinkConfig any_cable() {
    lab::LinkConfig link;
    link.propagation_ps = ns(dice_.pick(5, 500));
    if (dice_.chance(30)) link.fec_latency_ps = ns(100);
    if (dice_.chance(40)) link.latency_ps = ns(dice_.pick(100, 2000));
    if (dice_.chance(2)) link.bit_error_rate = 1e-7;
    return link;
  }

  // The contract, as the lab reader hands it to each device.
  void resolve_qos() {
    const bool two_classes = dice_.chance(50);
    for (lab::HostConfig& host : lab_.hosts) {
      host.qos = lab::host_qos(contract_);
      const bool other = two_classes && dice_.chance(50);
      host.qos.dscp = other ? 34 : 26;
      host.qos.priority = other ? 4 : 3;
      host.qos.ect = !dice_.chance(8);
    }
    lab_.qos = lab_.hosts.front().qos;
    for (lab::SwitchConfig& device : lab_.switches) {
      device.qos = lab::switch_qos(contract_, device.model);
      device.qos.ingress_pool_B = dice_.pick(40'000, 400'000);
      device.qos.egress_pool_B = dice_.pick(20'000, 200'000);
    }
    // Exactly what is needed, or much less.
    const bool enough = dice_.chance(70);
    for (const lab::LinkConfig& link : lab_.links) {
      for (const lab::PortRef& port : {link.a, link.b}) {
        if (!port.is_switch()) continue;
        lab::SwitchConfig& device = lab_.switches[port.host];
        const std::int64_t need_B = fabric::headroom_need_B(headroom_path(lab_, link, port));
        for (std::size_t g = 0; g < fabric::kClasses; ++g) {
          if (device.qos.groups[g].lossless) device.ports[port.port].headroom_B[g] = enough ? need_B : need_B / 4;
        }
      }
    }
  }

  // Workloads: all to one, one to one, or anything.
  void draw_workloads() {
    const std::int64_t count = dice_.pick(1, 2);
    for (std::int64_t i = 0; i < count; ++i) {
      lab::WorkloadConfig workload;
      workload.name = fmt::format("w{}", i);
      if (i > 0) workload.start_ps = us(dice_.pick(0, 50));
      if (i == 0) workload.start_ps = 0;
      for (std::uint32_t h = 0; h < lab_.hosts.size(); ++h) workload.flow_ports.push_back({h, 0, 0});
      workload.options = any_flows(static_cast<std::uint32_t>(lab_.hosts.size()));
      lab_.workloads.push_back(std::move(workload));
    }
  }

  std::int64_t pick_one(std::size_t count) { return dice_.pick(0, static_cast<std::int64_t>(count) - 1); }

  // Between two hosts, beside the flows.
  void draw_more_workloads() {
    const std::int64_t count = dice_.pick(0, 4);
    for (std::int64_t i = 0; i < count; ++i) {
      lab::WorkloadConfig config;
      config.name = fmt::format("m{}", i);
      config.start_ps = us(dice_.pick(0, 200));
      const auto client = static_cast<std::uint32_t>(pick_one(lab_.hosts.size()));
      const auto hosts = static_cast<std::int64_t>(lab_.hosts.size());
      config.client = {client, 0, 0};
      config.server = {static_cast<std::uint32_t>((client + dice_.pick(1, hosts - 1)) % hosts), 0, 0};
      const std::int64_t kind = dice_.pick(0, 9);
      if (kind < 5) {
        config.options = any_transfer();
      } else if (kind < 8) {
        config.options = any_perftest();
      } else {
        config.options = any_iperf3();
      }
      lab_.workloads.push_back(std::move(config));
    }
  }

  workload::TransferOptions any_transfer() {
    using workload::TransferOp;
    workload::TransferOptions options;
    options.op =
        dice_.one_of({TransferOp::kWrite, TransferOp::kWriteImm, TransferOp::kSend, TransferOp::kSendImm,
                      TransferOp::kSendInv, TransferOp::kRead, TransferOp::kFetchAdd, TransferOp::kCompareSwap});
    options.ud = options.op == TransferOp::kSend && dice_.chance(50);
    const bool atomic = options.op == TransferOp::kFetchAdd || options.op == TransferOp::kCompareSwap;
    options.size_B = static_cast<std::uint64_t>(atomic ? 8 : options.ud ? dice_.pick(1, 1000) : dice_.pick(1, 200'000));
    options.count = static_cast<std::uint64_t>(dice_.pick(1, 200));
    options.depth = static_cast<std::uint32_t>(dice_.pick(1, 32));
    options.timeout = static_cast<std::uint8_t>(dice_.pick(5, 9));
    options.retry_cnt = static_cast<std::uint8_t>(dice_.pick(3, 7));
    if (dice_.chance(20)) options.receive_delay_ps = us(dice_.pick(1, 50));
    return options;
  }

  workload::PerftestOptions any_perftest() {
    using workload::PerftestVerb;
    workload::PerftestOptions options;
    options.verb =
        dice_.one_of({PerftestVerb::kWrite, PerftestVerb::kRead, PerftestVerb::kSend, PerftestVerb::kAtomic});
    options.latency = dice_.chance(20);
    options.size_B = options.verb == PerftestVerb::kAtomic ? 8 : static_cast<std::uint64_t>(dice_.pick(1, 65'536));
    options.iterations = static_cast<std::uint64_t>(dice_.pick(50, 1000));
    options.qps = options.latency ? 1 : static_cast<std::uint32_t>(dice_.pick(1, 4));
    options.tx_depth = options.latency ? 1 : static_cast<std::uint32_t>(dice_.pick(1, 128));
    options.cq_mod = 1;
    options.bidirectional = !options.latency && dice_.chance(30);
    options.no_peak = true;
    return options;
  }

  workload::Iperf3Options any_iperf3() {
    workload::Iperf3Options options;
    options.algorithm = dice_.chance(50) ? workload::TcpAlgorithm::kCubic : workload::TcpAlgorithm::kReno;
    options.duration_ps = us(dice_.pick(500, 5000));
    options.parallel = static_cast<std::uint32_t>(dice_.pick(1, 4));
    options.reverse = dice_.chance(30);
    options.interval_ps = 0;
    return options;
  }

  workload::FlowOptions any_flows(std::uint32_t hosts) {
    workload::FlowOptions options;
    if (wide_chance(20))
      options.telemetry = dice_.chance(50) ? engine::TelemetryFormat::kInt : engine::TelemetryFormat::kIfa;
    options.op = dice_.chance(60) ? workload::FlowOp::kWrite : workload::FlowOp::kSend;
    options.message_B = static_cast<std::uint32_t>(dice_.chance(50) ? 0 : dice_.pick(1000, 60'000));
    options.timeout = static_cast<std::uint8_t>(dice_.pick(5, 7));
    options.retry_cnt = static_cast<std::uint8_t>(dice_.pick(3, 7));
    const auto size_B = static_cast<std::uint64_t>(dice_.pick(1, 200'000) * size_scale_);
    const auto victim = static_cast<std::uint32_t>(dice_.pick(0, hosts - 1));
    std::vector<std::uint32_t> others;
    for (std::uint32_t h = 0; h < hosts; ++h) {
      if (h != victim) others.push_back(h);
    }
    const std::int64_t pattern = dice_.pick(0, 9);
    if (pattern < 5) {
      options.flows = workload::incast(others, victim, size_B, static_cast<std::uint32_t>(dice_.pick(1, 2)), us(40));
    } else if (pattern < 7) {
      options.flows = workload::permutation(hosts, size_B, lab_.seed);
    } else if (pattern < 8) {
      options.flows = workload::all_to_all(hosts, size_B / hosts + 1);
    } else {
      const std::int64_t count = dice_.pick(1, 12);
      for (std::int64_t i = 0; i < count; ++i) {
        workload::Flow flow;
        flow.source = static_cast<std::uint32_t>(dice_.pick(0, hosts - 1));
        flow.destination = (flow.source + static_cast<std::uint32_t>(dice_.pick(1, hosts - 1))) % hosts;
        flow.size_B = static_cast<std::uint64_t>(dice_.pick(0, 200'000) * size_scale_);
        flow.start_ps = us(dice_.pick(0, 100));
        options.flows.push_back(flow);
      }
      std::stable_sort(options.flows.begin(), options.flows.end(),
                       [](const workload::Flow& a, const workload::Flow& b) { return a.start_ps < b.start_ps; });
    }
    return options;
  }

  // Faults.
  void draw_faults() {
    using fabric::FaultAction;
    const std::int64_t count = dice_.chance(40) ? 0 : dice_.pick(1, 3);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto link = static_cast<std::size_t>(dice_.pick(0, static_cast<std::int64_t>(lab_.links.size()) - 1));
      add_fault(link, dice_.one_of({FaultAction::kDrop, FaultAction::kCorrupt, FaultAction::kCeMark,
                                    FaultAction::kDelay, FaultAction::kDuplicate, FaultAction::kFlap, FaultAction::kCut,
                                    FaultAction::kSlowReceiver}));
    }
    if (!trunks_.empty() && dice_.chance(35)) {
      const std::size_t trunk =
          trunks_[static_cast<std::size_t>(dice_.pick(0, static_cast<std::int64_t>(trunks_.size()) - 1))];
      add_fault(trunk, FaultAction::kCut);
      lab_.faults.back().both_directions = true;
    }
    if (contract_.device.watchdog.enabled && dice_.chance(60)) add_storm();
  }

  void add_fault(std::size_t link, fabric::FaultAction action) {
    lab::FaultConfig fault;
    fault.from = dice_.chance(50) ? lab_.links[link].a : lab_.links[link].b;
    if (fabric::is_of_port(action)) fault.from = lab_.links.back().a;  // a host's
    fault.both_directions = !fabric::is_of_port(action) && dice_.chance(50);
    fabric::FaultRule& rule = fault.rule;
    rule.name = fmt::format("f{}", lab_.faults.size());
    rule.action = action;
    rule.start_ps = us(dice_.pick(0, 60));
    rule.end_ps = rule.start_ps + us(dice_.pick(1, 300));
    rule.delay_ps = ns(dice_.pick(1, 20'000));
    rule.flap_down_ps = us(dice_.pick(1, 30));
    rule.flap_up_ps = us(dice_.pick(1, 30));
    rule.rate_bps = dice_.pick(1, 20) * kGbps;
    if (action != fabric::FaultAction::kCut && action != fabric::FaultAction::kFlap)
      rule.probability_ppb = static_cast<std::uint64_t>(dice_.pick(1, 100'000'000));
    lab_.faults.push_back(fault);
  }

  // At a host that is sent to.
  void add_storm() {
    const workload::FlowOptions& flows = *lab_.workloads.front().as<workload::FlowOptions>();
    const std::uint32_t victim = flows.flows.back().destination;
    lab::FaultConfig fault;
    fault.from = {victim, 0, 0};
    fault.rule.name = "storm";
    fault.rule.action = fabric::FaultAction::kPauseStorm;
    fault.rule.priority = lab_.hosts[flows.flows.back().source].qos.priority;
    fault.rule.start_ps = us(dice_.pick(0, 10));
    fault.rule.end_ps = fault.rule.start_ps + us(dice_.pick(50, 400));
    lab_.faults.push_back(fault);
  }

  Dice dice_;
  bool wide_ = false;
  std::int64_t size_scale_ = 1;
  lab::Lab lab_;
  lab::QosContract contract_;
  fabric::SwitchModel model_;
  std::int64_t trunk_bps_ = 0;
  std::vector<std::size_t> trunks_;  // links between switches
};

inline lab::Lab random_lab(std::uint64_t seed) {
  return RandomLab(seed).make();
}
inline lab::Lab random_wide_lab(std::uint64_t seed) {
  return RandomLab(seed).make_wide();
}

}  // namespace weft::support
