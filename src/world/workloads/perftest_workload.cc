// A perftest in a running world.
#include <algorithm>
#include <deque>

#include "workload/perftest/run.h"
#include "world/capture_estimate.h"
#include "world/losses.h"
#include "world/workloads/active_workload.h"

namespace weft::lab {
namespace {

// With what the flags say of memory, at both ends: --use_cuda, --use_cuda_dmabuf, --disable_pcie_relaxed.
workload::Endpoint end_of(const workload::PerftestOptions& options, const WorkloadSetup& setup, const PortRef& port,
                          std::uint32_t function) {
  if (!options.gpu && options.relaxed_ordering) return setup.world.endpoint(port, function, setup.config);
  WorkloadConfig config = setup.config;
  std::optional<host::Placement>& placement = port == config.client ? config.client_placement : config.server_placement;
  if (!placement) placement = setup.world.lab().hosts[port.host].places.placement;
  if (options.gpu) placement->gpu = options.gpu;
  placement->dmabuf = options.dmabuf;
  placement->relaxed_ordering = placement->relaxed_ordering && options.relaxed_ordering;
  return setup.world.endpoint(port, function, config);
}

class PerftestWorkload final : public ActiveWorkload {
 public:
  PerftestWorkload(const workload::PerftestOptions& options, const WorkloadSetup& setup)
      : ActiveWorkload(setup.config),
        // In braces: the client's end is made first, whatever the compiler. Two guests of one host draw by that order.
        run_{options, end_of(options, setup, setup.config.client, setup.config.client_function),
             end_of(options, setup, setup.config.server, setup.config.server_function)} {
    World& world = setup.world;
    run_.count_losses([&world] { return losses_of(world); });
    if (setup.why) follow(world);
  }

  workload::Workload& run() override { return run_; }
  workload::Outcome outcome(World& world) override {
    workload::PerftestResult result = run_.result();
    const auto slow = slow_links(world.lab(), {config().client, config().server});
    for (workload::PerftestRow& row : result.rows) {
      if (!slow.empty()) row.account.slow_link = slow_link_text(world.lab(), *slow.front());
    }
    return result;
  }

 private:
  // One direction of a cable, as a tap.
  struct Follower {
    nic::MessageTrace* trace;
    nic::MessageTrace::Hop hop;
    static void frame(void* self, const fabric::TapFrame& frame) {
      const auto& follower = *static_cast<const Follower*>(self);
      if (frame.outbound) {
        follower.trace->sent(follower.hop, frame.packet, frame.time_ps);
      } else {
        follower.trace->arrived(follower.hop, frame.packet, frame.time_ps);
      }
    }
  };

  void follow(World& world) {
    std::vector<std::string> names(world.port_count());
    std::vector<bool> forwarders(world.port_count());
    for (const LinkConfig& link : world.lab().links) {
      for (const PortRef& port : {link.a, link.b}) {
        names[world.port_id(port)] = port_name(world.lab(), port);
        forwarders[world.port_id(port)] = port.is_switch() && world.lab().switches[port.host].forwarder.has_value();
      }
    }
    nic::MessageTrace& trace = run_.follow(std::move(names));
    for (WorldLink& link : world.links()) {
      const fabric::LinkTiming& timing = link.direction->timing();
      const bool given = link.config->latency_ps.has_value();
      const bool to_switch = world.device(link.to) == nullptr;
      followers_.push_back(
          {&trace,
           {link.from, link.to, timing.ps_per_byte, given ? timing.flight_ps : link.config->propagation_ps,
            given ? 0 : link.config->fec_latency_ps, timing.flight_ps, timing.cut_through_B, to_switch,
            forwarders[link.from]}});
      world.tap_link(link, {&followers_.back(), &Follower::frame});
    }
  }

  workload::PerftestRun run_;
  std::deque<Follower> followers_;
};

}  // namespace

WorkloadNeeds needs_of(const workload::PerftestOptions&) {
  return {};
}

std::unique_ptr<ActiveWorkload> activate(const workload::PerftestOptions& options, const WorkloadSetup& setup) {
  return std::make_unique<PerftestWorkload>(options, setup);
}

namespace {

void add_size(const workload::PerftestOptions& options, const WorkloadConfig& config, std::uint64_t size_B,
              CaptureTraffic& traffic) {
  const bool is_read = options.verb == workload::PerftestVerb::kRead;
  const PortRef &from = is_read ? config.server : config.client, &to = is_read ? config.client : config.server;
  double count = static_cast<double>(options.iterations) * options.qps;
  if (options.duration_s != 0) {
    constexpr double kPingPong_s = 2e-6;  // of small messages, about
    double per_s = traffic.messages_per_s(from, to, size_B, options.mtu_B);
    if (options.latency) per_s = 1 / (1 / per_s + kPingPong_s);
    if (options.rate_limit > 0 && options.rate_units == workload::RateUnits::kGbps && size_B > 0)
      per_s = std::min(per_s, options.rate_limit * 1e9 / 8 / static_cast<double>(size_B));
    count = options.duration_s * per_s;
  }
  const bool answers_itself = is_read || options.verb == workload::PerftestVerb::kAtomic;
  traffic.add_messages(from, to, count, size_B, options.mtu_B, !options.ud);
  if (options.bidirectional || (options.latency && !answers_itself))
    traffic.add_messages(to, from, count, size_B, options.mtu_B, !options.ud);
}

}  // namespace

void add_traffic(const workload::PerftestOptions& options, const WorkloadConfig& config, CaptureTraffic& traffic) {
  if (!options.all_sizes) return add_size(options, config, options.size_B, traffic);
  constexpr unsigned kLargestPower = 23;  // -a
  for (unsigned power = 1; power <= kLargestPower; ++power)
    add_size(options, config, std::uint64_t{1} << power, traffic);
}

}  // namespace weft::lab
