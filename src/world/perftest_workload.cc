// A perftest in a running world.
#include <deque>

#include "workload/perftest_run.h"
#include "world/active_workload.h"
#include "world/losses.h"

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

}  // namespace weft::lab
