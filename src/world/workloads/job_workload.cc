// A job in a running world.
#include <fmt/format.h>

#include <algorithm>

#include "workload/job/engine.h"
#include "workload/job/summary.h"
#include "world/workloads/active_workload.h"
#include "world/workloads/nccl_setup.h"

namespace weft::lab {
namespace {

using workload::JobOptions;
using workload::JobOutcome;

class JobWorkload final : public ActiveWorkload {
 public:
  JobWorkload(const JobOptions& options, const WorkloadSetup& setup)
      : ActiveWorkload(setup.config),
        options_(options),
        machines_(nccl_machines(setup.world.lab(), options.hosts)),
        engine_(collective_setup(setup.world, setup.config, machines_, options.nccl)),
        streams_(options, engine_,
                 [this](const std::vector<nccl::RankPlace>& places) {
                   return std::make_shared<const nccl::Communicator>(machines_.cluster, places, options_.nccl);
                 }),
        run_(options, streams_) {
    engine_.on_end([this](const workload::StreamEnd& end) { run_.ended(end.tag, end.start_ps, end.end_ps); });
  }

  workload::Workload& run() override { return run_; }
  workload::Outcome outcome(World& world) override;

 private:
  // What is wrong with the ports that a group uses.
  std::string port_reason(World& world, const workload::JobGroup& group) const;

  const JobOptions& options_;
  NcclMachines machines_;
  workload::CollectiveEngine engine_;
  workload::JobEngine streams_;
  workload::JobRun run_;
};

// Of a bond both of its ports.
std::int64_t rate_bps_of(const World& world, const PortRef& port) {
  return world.rate_bps(world.port_id(port)) * (in_bond(world.lab(), port) ? 2 : 1);
}

workload::Outcome JobWorkload::outcome(World& world) {
  std::vector<double> rates;
  std::vector<std::string> names;
  for (std::uint32_t machine = 0; machine < options_.hosts.size(); ++machine) {
    double rate_Bps = 0;
    for (const PortRef& port : machines_.ports[machine]) rate_Bps += static_cast<double>(rate_bps_of(world, port)) / 8;
    rates.push_back(rate_Bps);
    names.push_back(world.lab().hosts[options_.hosts[machine]].name);
  }
  JobOutcome outcome = workload::summarise_job(options_, run_.times(), rates, names);
  outcome.failure = engine_.failure();
  outcome.use = engine_.use();
  for (workload::JobStraggler& each : outcome.stragglers) {
    constexpr std::string_view kRank = "rank ", kGroup = "group ";
    if (each.what.starts_with(kRank)) {
      const nccl::RankPlace& place = options_.ranks[std::stoul(each.what.substr(kRank.size()))];
      each.what += fmt::format(" ({} GPU {})", names[place.machine], place.gpu);
      continue;
    }
    for (const workload::JobGroup& group : options_.graph->groups) {
      if (kGroup.data() + group.name != each.what) continue;
      if (const std::string reason = port_reason(world, group); !reason.empty()) each.reason += "; " + reason;
    }
  }
  return outcome;
}

std::string JobWorkload::port_reason(World& world, const workload::JobGroup& group) const {
  struct Used {
    std::string name;
    std::int64_t rate_bps = 0;
    std::uint64_t retransmitted = 0, cnps = 0;
  };
  std::vector<Used> ports;
  std::int64_t fastest_bps = 0;
  for (std::uint32_t rank : group.ranks) {
    const nccl::RankPlace& place = options_.ranks[rank];
    const std::vector<PortRef>& all = machines_.ports[place.machine];
    const bool rails = all.size() == world.lab().hosts[options_.hosts[place.machine]].places.gpus.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (rails && i != place.gpu) continue;
      const std::uint32_t id = world.port_id(all[i]);
      nic::Device* device = world.device(id);
      if (device == nullptr) continue;
      Used used{port_name(world.lab(), all[i]), rate_bps_of(world, all[i]), 0, 0};
      for (const nic::Device* port : {device, device->sibling()}) {
        if (port == nullptr) continue;
        used.retransmitted += port->counters().retransmitted_packets;
        used.cnps += port->counters().rp_cnp_handled;
      }
      ports.push_back(std::move(used));
    }
  }
  for (const std::vector<PortRef>& machine : machines_.ports) {
    for (const PortRef& port : machine) fastest_bps = std::max(fastest_bps, rate_bps_of(world, port));
  }
  const auto slowest = std::min_element(ports.begin(), ports.end(),
                                        [](const Used& a, const Used& b) { return a.rate_bps < b.rate_bps; });
  if (slowest != ports.end() && slowest->rate_bps < fastest_bps)
    return fmt::format("{} runs at {} Gb/s, other ports at {}", slowest->name, slowest->rate_bps / 1'000'000'000,
                       fastest_bps / 1'000'000'000);
  const auto lossy = std::max_element(ports.begin(), ports.end(),
                                      [](const Used& a, const Used& b) { return a.retransmitted < b.retransmitted; });
  if (lossy != ports.end() && lossy->retransmitted > 0)
    return fmt::format("{} sent {} packets again", lossy->name, lossy->retransmitted);
  const auto marked =
      std::max_element(ports.begin(), ports.end(), [](const Used& a, const Used& b) { return a.cnps < b.cnps; });
  if (marked != ports.end() && marked->cnps > 0)
    return fmt::format("{} was slowed down by {} CNPs", marked->name, marked->cnps);
  return "";
}

}  // namespace

WorkloadNeeds needs_of(const JobOptions&) {
  return {};
}

std::unique_ptr<ActiveWorkload> activate(const JobOptions& options, const WorkloadSetup& setup) {
  return std::make_unique<JobWorkload>(options, setup);
}

}  // namespace weft::lab
