// Flows in a running world.
#include <algorithm>
#include <span>

#include "workload/flow/run.h"
#include "workload/flow/stats.h"
#include "workload/flow/summary.h"
#include "world/capture_estimate.h"
#include "world/idle_path.h"
#include "world/losses.h"
#include "world/workloads/active_workload.h"

namespace weft::lab {
namespace {

using workload::FlowOutcome;
using workload::FlowsOutcome;

std::vector<workload::Endpoint> endpoints(const WorkloadSetup& setup) {
  std::vector<workload::Endpoint> ends;
  WorkloadConfig config;
  config.dscp = setup.config.dscp;
  config.priority = setup.config.priority;
  config.client_placement = setup.config.client_placement;
  for (const PortRef& port : setup.config.flow_ports) {
    // As a library does that finds GPU memory which it cannot register: it stages it in its own.
    const host::HostPlaces& places = setup.world.lab().hosts[port.host].places;
    if (config.client_placement && config.client_placement->gpu)
      config.client_placement->bounce = !host::registration_error(places, *config.client_placement).empty();
    config.server_placement = config.client_placement;
    ends.push_back(setup.world.endpoint(port, 0, config));
  }
  return ends;
}

class FlowsWorkload final : public ActiveWorkload {
 public:
  FlowsWorkload(const workload::FlowOptions& options, const WorkloadSetup& setup)
      : ActiveWorkload(setup.config), run_(options, endpoints(setup)) {
    World& world = setup.world;
    if (setup.why) run_.keep_accounts([&world] { return losses_of(world); });
  }

  workload::Workload& run() override { return run_; }
  workload::Outcome outcome(World& world) override;
  std::size_t sender_count() const override { return run_.rows().size(); }
  std::int64_t sender_rate_bps(World& world, std::size_t sender) const override;
  std::array<Time_ps, nic::kSenderStates> sender_times(World& world, std::size_t sender, Time_ps now_ps) const override;

 private:
  workload::FlowRun run_;
};

workload::Outcome FlowsWorkload::outcome(World& world) {
  FlowsOutcome outcome;
  const bool any_slow = !slow_links(world.lab(), config().flow_ports).empty();
  for (const workload::FlowRow& row : run_.rows()) {
    const PortRef& from = config().flow_ports[row.source];
    nic::Device& device = *world.device(world.port_id(from));
    FlowOutcome flow;
    flow.row = row;
    flow.from = world.book()[world.port_id(from)].name;
    const PortRef& to = config().flow_ports[row.destination];
    flow.to = world.book()[world.port_id(to)].name;
    if (row.state == workload::FlowState::kDone) {
      if (auto alone_ps = idle_fct_ps(world, from, to, row.size_B, run_.mtu_B(row)))
        flow.slowdown = static_cast<double>(row.fct_ps()) / static_cast<double>(*alone_ps);
    }
    if (row.qpn != 0) {
      flow.retransmitted_packets = device.qp(row.qpn).retransmitted_packets;
      flow.cnps_received = device.qp(row.qpn).cnps_received;
    }
    if (row.remote_qpn != 0) {
      const engine::Telemetry* worst = world.device(world.port_id(to))->worst_telemetry(row.remote_qpn);
      for (std::size_t i = 0; worst != nullptr && i < worst->count; ++i) {
        const engine::HopRecord& hop = worst->hops[i];
        const SwitchConfig& node = world.lab().switches[hop.node];
        flow.hops.push_back(
            {node.name + ":" + node.ports[world.cabled_ports(hop.node)[hop.out_port]].name, hop.queue_B, hop.left_ps});
      }
    }
    flow.budget = run_.budget(outcome.flows.size());
    if (flow.budget && any_slow) {
      const auto slow = slow_links(world.lab(), {from, to});
      if (!slow.empty()) flow.budget->slow_link = slow_link_text(world.lab(), *slow.front());
      flow.budget->healthy = flow.budget->healthy && slow.empty();
    }
    outcome.flows.push_back(std::move(flow));
  }
  outcome.ready_ps = run_.ready_ps();
  outcome.summary = workload::summarise(run_.rows());
  std::vector<double> slowdowns;
  for (const FlowOutcome& flow : outcome.flows) {
    if (flow.slowdown > 0) slowdowns.push_back(flow.slowdown);
  }
  if (slowdowns.empty()) return outcome;
  std::sort(slowdowns.begin(), slowdowns.end());
  outcome.summary.slowdown_p50 = workload::percentile(std::span<const double>(slowdowns), 5'000);
  outcome.summary.slowdown_p99 = workload::percentile(std::span<const double>(slowdowns), 9'900);
  return outcome;
}

std::int64_t FlowsWorkload::sender_rate_bps(World& world, std::size_t sender) const {
  const workload::FlowRow& row = run_.rows()[sender];
  if (row.state != workload::FlowState::kRunning || row.qpn == 0) return 0;
  std::uint32_t port = world.port_id(config().flow_ports[row.source]);
  std::int64_t pace_q16 = world.device(port)->qp(row.qpn).congestion.pace_q16;
  if (pace_q16 == 0) return world.rate_bps(port);
  return static_cast<std::int64_t>(static_cast<unsigned __int128>(8 * kSecond_ps) * 65'536 /
                                   static_cast<unsigned __int128>(pace_q16));
}

std::array<Time_ps, nic::kSenderStates> FlowsWorkload::sender_times(World& world, std::size_t sender,
                                                                    Time_ps now_ps) const {
  const workload::FlowRow& row = run_.rows()[sender];
  nic::Device* device = world.device(world.port_id(config().flow_ports[row.source]));
  if (row.qpn == 0 || device == nullptr || device->record() == nullptr) return {};
  return device->owner_of(row.qpn).record()->times_at(nic::QueuePairNumbers::place_of(row.qpn) * 2, now_ps);
}

}  // namespace

WorkloadNeeds needs_of(const workload::FlowOptions&) {
  return {};
}

std::unique_ptr<ActiveWorkload> activate(const workload::FlowOptions& options, const WorkloadSetup& setup) {
  return std::make_unique<FlowsWorkload>(options, setup);
}

void add_traffic(const workload::FlowOptions& options, const WorkloadConfig& config, CaptureTraffic& traffic) {
  for (const workload::Flow& flow : options.flows) {
    const std::uint64_t message_B = options.message_B == 0 ? flow.size_B : options.message_B;
    const double count = message_B == 0 ? 1 : static_cast<double>(flow.size_B) / static_cast<double>(message_B);
    traffic.add_messages(config.flow_ports[flow.source], config.flow_ports[flow.destination], count, message_B,
                         options.mtu_B, true);
  }
}

}  // namespace weft::lab
