// iperf3 in a running world.
#include "model/port_pairs.h"
#include "workload/tcp/run.h"
#include "world/capture_estimate.h"
#include "world/workloads/active_workload.h"

namespace weft::lab {
namespace {

// In the lossy class unless the lab names another: DSCP 0, priority 0, not ECN-capable (DCTCP sets that itself).
workload::Endpoint tcp_end(const WorkloadSetup& setup, const PortRef& ref, std::uint32_t function) {
  constexpr std::uint8_t kEcnBits = 3;
  const WorkloadConfig& config = setup.config;
  workload::Endpoint end = setup.world.endpoint(ref, function, config);
  if (config.dscp || config.priority) {
    end.tos = static_cast<std::uint8_t>(end.tos & ~kEcnBits);
  } else {
    end.tos = 0;
    end.priority = 0;
  }
  return end;
}

class Iperf3Workload final : public ActiveWorkload {
 public:
  Iperf3Workload(const workload::Iperf3Options& options, const WorkloadSetup& setup)
      : ActiveWorkload(setup.config),
        // In braces: the client's end is made first, whatever the compiler. Two guests of one host draw by that order.
        run_{options, tcp_end(setup, setup.config.client, setup.config.client_function),
             tcp_end(setup, setup.config.server, setup.config.server_function), path_of(setup)} {
    run_.result().client = address_of(setup.world.lab(), setup.config.client);
    run_.result().server = address_of(setup.world.lab(), setup.config.server);
  }

  workload::Workload& run() override { return run_; }
  workload::Outcome outcome(World&) override { return run_.result(); }

 private:
  static const PortConfig& port_of(const Lab& lab, const PortRef& ref) {
    return lab.hosts[ref.host].nics[ref.nic].ports[ref.port];
  }
  static std::string address_of(const Lab& lab, const PortRef& ref) { return to_string(port_of(lab, ref).address); }
  static workload::TcpPath path_of(const WorkloadSetup& setup) {
    const Lab& lab = setup.world.lab();
    const PortConfig &client = port_of(lab, setup.config.client), &server = port_of(lab, setup.config.server);
    return {static_cast<std::uint32_t>(std::min(client.netdev_mtu_B, server.netdev_mtu_B)), client.address.is_v4,
            !one_subnet(lab, {setup.config.client, setup.config.server})};
  }

  workload::Iperf3Run run_;
};

}  // namespace

WorkloadNeeds needs_of(const workload::Iperf3Options&) {
  return {};
}

std::unique_ptr<ActiveWorkload> activate(const workload::Iperf3Options& options, const WorkloadSetup& setup) {
  return std::make_unique<Iperf3Workload>(options, setup);
}

void add_traffic(const workload::Iperf3Options& options, const WorkloadConfig& config, CaptureTraffic& traffic) {
  const PortRef &from = options.reverse ? config.server : config.client,
                &to = options.reverse ? config.client : config.server;
  const double by_time_B = traffic.rate_bps(from) / 8 * static_cast<double>(options.duration_ps) / 1e12;
  traffic.add_stream(from, to, options.total_B != 0 ? static_cast<double>(options.total_B) : by_time_B, options.mss_B);
}

}  // namespace weft::lab
