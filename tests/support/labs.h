// Labs made in code from the round-number models: two hosts and one cable, for tests of the whole program. They do not
// depend on the catalog, so that a new calibration changes no digest.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "model/lab.h"
#include "results/results_json.h"
#include "support/bytes.h"
#include "support/models.h"
#include "world/runner.h"

namespace weft::support {

inline lab::Lab two_host_lab(const nic::NicModel& model = test_nic(), std::int64_t netdev_mtu_B = 4200) {
  lab::Lab lab;
  lab.name = "two-host-test";
  for (std::uint8_t h = 0; h < 2; ++h) {
    lab::HostConfig host;
    host.name = h == 0 ? "vm00" : "vm01";
    host.model = test_host();
    lab::NicConfig nic;
    nic.model = model;
    lab::PortConfig port;
    port.name = "p0";
    port.netdev_mtu_B = netdev_mtu_B;
    const std::uint8_t address[] = {0, 0, 0,    0,    0,  0, 0, 0,
                                    0, 0, 0xff, 0xff, 10, 0, 0, static_cast<std::uint8_t>(h + 1)};
    std::copy(std::begin(address), std::end(address), std::begin(port.address.bytes));
    nic.ports.push_back(port);
    host.nics.push_back(nic);
    lab.hosts.push_back(host);
  }
  lab::LinkConfig link;
  link.a = {0, 0, 0};
  link.b = {1, 0, 0};
  link.rate_bps = model.line_rate_bps;
  link.propagation_ps = ns(400);
  lab.links.push_back(link);
  return lab;
}

inline lab::WorkloadConfig transfer(const std::string& name, const workload::TransferOptions& options,
                                    bool reverse = false) {
  lab::WorkloadConfig config;
  config.name = name;
  config.client = {reverse ? 1U : 0U, 0, 0};
  config.server = {reverse ? 0U : 1U, 0, 0};
  config.options = options;
  return config;
}

inline lab::WorkloadConfig perftest(const std::string& name, const workload::PerftestOptions& options) {
  lab::WorkloadConfig config;
  config.name = name;
  config.client = {0, 0, 0};
  config.server = {1, 0, 0};
  config.options = options;
  return config;
}

inline workload::PerftestOptions write_bw(std::uint64_t size_B, std::uint64_t iterations) {
  workload::PerftestOptions options;
  options.verb = workload::PerftestVerb::kWrite;
  options.size_B = size_B;
  options.iterations = iterations;
  options.cq_mod = 1;
  options.no_peak = true;
  return options;
}

struct Outcome {
  lab::RunResult result;
  std::string json;  // without the number of captured frames
};

// `capture_path`: every port is captured there.
inline Outcome run(const lab::Lab& lab, lab::SessionOptions options = {}, const std::string& capture_path = "") {
  if (!capture_path.empty()) {
    options.capture_ports = {{0, 0, 0}, {1, 0, 0}};
    options.capture_path = capture_path;
  }
  auto result = lab::run_lab(lab, options);
  if (!result) return {{}, "error: " + result.error()};
  Outcome outcome{std::move(*result), ""};
  lab::RunResult plain = outcome.result;
  plain.captured_frames = 0;
  outcome.json = lab::results_json(lab, plain);
  return outcome;
}

}  // namespace weft::support
