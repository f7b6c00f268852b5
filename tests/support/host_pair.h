// Two hosts and one cable, without a lab: what unit tests of hosts and workloads need.
#pragma once

#include <functional>
#include <memory>

#include "engine/engine.h"
#include "fabric/link_wrapper.h"
#include "host/host.h"
#include "nic/transports/transport.h"
#include "support/models.h"

namespace weft::support {

// A program that is a function.
class Script final : public host::Program {
 public:
  explicit Script(std::function<Time_ps(Time_ps)> step) : step_(std::move(step)) {}
  Time_ps step(Time_ps now_ps) override {
    stepped_ps.push_back(now_ps);
    return step_(now_ps);
  }
  void memory_written(Time_ps visible_ps) override { written_ps.push_back(visible_ps); }
  std::vector<Time_ps> stepped_ps, written_ps;

 private:
  std::function<Time_ps(Time_ps)> step_;
};

struct HostPairOptions {
  nic::NicModel model[2] = {test_nic(), test_nic()};
  host::HostModel host = test_host();
  std::vector<fabric::FaultRule> faults[2];
  bool carry_payload = true;
};

class HostPair {
 public:
  explicit HostPair(const HostPairOptions& options = {}) {
    engine_.set_formats(nic::packet_formats());
    for (std::uint32_t side = 0; side < 2; ++side)
      hosts_[side] = std::make_unique<host::Host>(options.host, engine_.domain(0), 1, side);
    for (std::uint32_t from = 0; from < 2; ++from) {
      fabric::LinkTiming timing{80, us(1), options.model[1 - from].rx_latency_ps, ns(300), 0};
      engine::LinkEnds ends = engine_.connect(0, 0, hosts_[1 - from]->node(),
                                              timing.flight_ps + std::min(timing.pipeline_ps, timing.response_ps));
      links_[from] = std::make_unique<fabric::LinkDirection>(ends, &engine_.domain(0), &engine_.domain(0), timing);
      if (options.faults[from].empty()) continue;
      wrappers_[from] = std::make_unique<fabric::LinkWrapper>(options.faults[from], 1, from, 1 - from, 0.0);
      links_[from]->wrap(wrappers_[from].get());
    }
    for (std::uint32_t side = 0; side < 2; ++side) {
      nic::DeviceConfig config;
      config.model = options.model[side];
      config.name = "mlx5_0";
      config.port_id = side;
      config.seed = 1;
      config.carry_payload = options.carry_payload;
      nic::Card& card = hosts_[side]->add_card(options.model[side]);
      hosts_[side]->add_device(std::move(config), card, *links_[side], *links_[1 - side]);
    }
  }
  host::Host& host(std::uint32_t side) { return *hosts_[side]; }
  nic::Device& device(std::uint32_t side) { return hosts_[side]->device(0); }
  fabric::LinkDirection& link(std::uint32_t from) { return *links_[from]; }
  void run(Time_ps deadline_ps = kNever_ps) { engine_.run(deadline_ps); }

 private:
  engine::Engine engine_{1};
  std::unique_ptr<host::Host> hosts_[2];
  std::unique_ptr<fabric::LinkDirection> links_[2];
  std::unique_ptr<fabric::LinkWrapper> wrappers_[2];
};

}  // namespace weft::support
