#include "model/nccl_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "nccl/decide/environment.h"
#include "nccl/text/log.h"
#include "nccl/text/tests_options.h"

namespace weft::lab {

namespace {

bool has_link(const Lab& lab, const PortRef& port) {
  const PortRef carrier = carrier_of(lab, port);
  return std::any_of(lab.links.begin(), lab.links.end(),
                     [&](const LinkConfig& link) { return link.a == carrier || link.b == carrier; });
}

std::int64_t link_rate_bps(const Lab& lab, const PortRef& port) {
  const PortRef carrier = carrier_of(lab, port);
  for (const LinkConfig& link : lab.links) {
    if (link.a == carrier || link.b == carrier) return link.rate_bps;
  }
  return 0;
}

std::string gpu_title(const host::GpuModel& gpu) {
  return gpu.description.substr(0, gpu.description.find('('));
}

}  // namespace

NcclMachines nccl_machines(const Lab& lab, std::span<const std::uint32_t> hosts) {
  NcclMachines machines;
  for (std::uint32_t index : hosts) {
    const HostConfig& host = lab.hosts[index];
    nccl::Machine& machine = machines.cluster.machines.emplace_back();
    std::vector<PortRef>& ports = machines.ports.emplace_back();
    machine.name = host.name;
    if (host.model.layout != nullptr) machine.layout = *host.model.layout;
    machine.places = host.places;
    machine.cpu_kind = host.model.cpu_kind;
    machine.gpu_fabric = host.model.gpu_fabric;
    for (std::uint32_t nic = 0; nic < host.nics.size(); ++nic) {
      for (std::uint32_t port = 0; port < host.nics[nic].ports.size(); ++port) {
        const PortRef ref{index, nic, port};
        const PortConfig& config = host.nics[nic].ports[port];
        if (!has_link(lab, ref) || config.second_of_bond) continue;
        nccl::Nic& found = machine.nics.emplace_back();
        found.name = device_name(lab, ref);
        found.interface = config.bond ? lab.lags[*config.bond].name : config.name;
        found.address = to_string(config.address);
        found.rate_bps = (config.bond ? 2 : 1) * link_rate_bps(lab, ref);
        found.slot = host.nics[nic].slot;
        found.pcie_generation = host.nics[nic].model.pcie_generation;
        found.pcie_lanes = host.nics[nic].model.pcie_lanes;
        ports.push_back(ref);
      }
    }
  }
  return machines;
}

std::vector<nccl::RankPlace> nccl_ranks(const Lab& lab, std::span<const std::uint32_t> hosts,
                                        std::uint32_t gpus_per_host) {
  std::vector<nccl::RankPlace> ranks;
  for (std::uint32_t machine = 0; machine < hosts.size(); ++machine) {
    const auto gpus = static_cast<std::uint32_t>(lab.hosts[hosts[machine]].places.gpus.size());
    for (std::uint32_t gpu = 0; gpu < (gpus_per_host == 0 ? gpus : gpus_per_host); ++gpu)
      ranks.push_back({machine, gpu});
  }
  return ranks;
}

std::vector<std::uint32_t> hosts_with_gpus(const Lab& lab) {
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t i = 0; i < lab.hosts.size(); ++i) {
    if (!lab.hosts[i].places.gpus.empty()) hosts.push_back(i);
  }
  return hosts;
}

nccl::ParsedEnvironment nccl_environment(const workload::NcclOptions& options) {
  std::vector<nccl::Variable> variables;
  for (const auto& [name, value] : options.environment) variables.push_back({name, value});
  nccl::ParsedEnvironment parsed = nccl::parse_environment(variables);
  if (options.version != 0) parsed.environment.version = options.version;
  parsed.environment.halving_doubling = options.halving_doubling;
  const auto read = [&](const std::string& path, std::string& text) {
    if (path.empty()) return;
    constexpr std::size_t kLargest_B = 10'000'000;
    auto found = read_file(path, kLargest_B);
    if (found) {
      text = *std::move(found);
    } else {
      parsed.problems.push_back(
          {0, true, fmt::format("cannot read {}: {}", path, found.error()), "give the path of an XML file"});
    }
  };
  read(parsed.environment.topo_file, parsed.environment.topo_text);
  read(parsed.environment.graph_file, parsed.environment.graph_text);
  return parsed;
}

std::vector<TextError> nccl_warnings(const workload::NcclOptions& options) {
  std::vector<TextError> warnings;
  for (const nccl::EnvironmentProblem& problem : nccl_environment(options).problems) {
    if (!problem.error) warnings.push_back({problem.message, problem.remedy});
  }
  return warnings;
}

std::vector<TextError> nccl_problems(const workload::NcclOptions& options, const Lab& lab) {
  std::vector<TextError> problems;
  const nccl::TestOptions& test = options.test;
  const std::uint32_t process = test.threads * test.gpus;
  if (options.hosts.empty())
    problems.push_back({"no host has a GPU", "give the nodes some: gpus: [{model: h100-sxm}]"});
  for (std::uint32_t index : options.hosts) {
    const HostConfig& host = lab.hosts[index];
    const std::size_t gpus = host.places.gpus.size();
    const std::size_t wanted = options.gpus_per_host == 0 ? gpus : options.gpus_per_host;
    if (gpus == 0) {
      problems.push_back(
          {fmt::format("{} has no GPU", host.name), "name hosts with GPUs, or write gpus: [{model: …}]"});
    } else if (wanted > gpus || process > gpus) {
      problems.push_back({fmt::format("{} ranks on {}, which has {} GPU{}", std::max<std::size_t>(wanted, process),
                                      host.name, gpus, gpus == 1 ? "" : "s"),
                          "a GPU has one rank: use fewer (gpus_per_host, -g, -t), or add GPUs to the node"});
    } else if (wanted % process != 0) {
      problems.push_back({fmt::format("-t {} -g {} is {} GPUs a process, and {} has {}", test.threads, test.gpus,
                                      process, host.name, wanted),
                          "let -t times -g divide the GPUs of a host"});
    }
    const NcclMachines machine = nccl_machines(lab, std::span(&index, 1));
    if (options.hosts.size() > 1 && machine.ports.front().empty())
      problems.push_back({fmt::format("{} has no NIC with a cable", host.name), "join it to the others in links"});
    // As nccl-tests: 1 GiB is left alone, the rest is cut in two buffers, or three where results are checked.
    const std::uint64_t buffers = test.check ? 3 : 2;
    for (const host::GpuPlace& gpu : host.places.gpus) {
      const std::uint64_t room_B =
          gpu.model.memory_B > (1 << 30) ? static_cast<std::uint64_t>(gpu.model.memory_B - (1 << 30)) / buffers : 0;
      if (test.max_B <= room_B) continue;
      problems.push_back({fmt::format("-e {} needs {} buffers of {} B, and {} of {} has {} GB", test.max_B, buffers,
                                      test.max_B, gpu.model.name, host.name, gpu.model.memory_B / 1'000'000'000),
                          fmt::format("write at most -e {}M{}", room_B >> 20, test.check ? ", or -c 0" : "")});
      break;
    }
  }
  const nccl::ParsedEnvironment parsed = nccl_environment(options);
  for (const nccl::EnvironmentProblem& problem : parsed.problems) {
    if (problem.error) problems.push_back({problem.message, problem.remedy});
  }
  const std::size_t ranks = nccl_ranks(lab, options.hosts, options.gpus_per_host).size();
  if (problems.empty()) {
    const nccl::Communicator decided(nccl_machines(lab, options.hosts).cluster,
                                     nccl_ranks(lab, options.hosts, options.gpus_per_host), parsed.environment);
    const nccl::Environment& environment = parsed.environment;
    const bool from_file = !environment.topo_text.empty() || !environment.graph_text.empty();
    if (!decided.error().empty())
      problems.push_back({decided.error(), from_file ? "correct the file, or leave its variable out"
                                                     : "look at hosts, cables and NCCL's variables"});
    for (std::uint32_t type : test.types) {
      for (std::uint32_t operation : test.operations) {
        const std::string message = decided.unavailable(test.collective, nccl::switch_reduces(type, operation));
        if (decided.error().empty() && !message.empty() && problems.empty())
          problems.push_back({message, "name another: Ring with Simple has all; or leave the variables out"});
      }
    }
  }
  if (nccl::has_root(test.collective) && test.root >= static_cast<std::int32_t>(ranks) && ranks > 0)
    problems.push_back(
        {fmt::format("-r {}: there are {} ranks", test.root, ranks), fmt::format("write 0 to {}", ranks - 1)});
  if (options.halving_doubling && test.collective != nccl::Collective::kAllReduce)
    problems.push_back({"algorithm halving-doubling of another collective than all_reduce", "leave algorithm out"});
  if (test.collective == nccl::Collective::kHypercube && (ranks & (ranks - 1)) != 0)
    problems.push_back({fmt::format("a hypercube of {} ranks", ranks), "it needs a power of two"});
  return problems;
}

std::vector<nccl::TestDevice> nccl_devices(const workload::NcclOptions& options, const Lab& lab) {
  std::vector<nccl::TestDevice> devices;
  const std::uint32_t process = options.test.threads * options.test.gpus;
  for (const nccl::RankPlace& place : nccl_ranks(lab, options.hosts, options.gpus_per_host)) {
    const HostConfig& host = lab.hosts[options.hosts[place.machine]];
    nccl::TestDevice device;
    device.rank = static_cast<std::uint32_t>(devices.size());
    device.pid = nccl::process_id(device.rank - place.gpu % process);
    device.host = host.name;
    device.device = place.gpu;
    device.bus = fmt::format("0000:{:02x}:00", nccl::gpu_bus_id(place.gpu) >> 12);
    device.name = gpu_title(host.places.gpus[place.gpu].model);
    devices.push_back(std::move(device));
  }
  return devices;
}

Lab with_nccl(const Lab& lab, const workload::NcclOptions& options) {
  Lab measured = lab;
  measured.workloads.clear();
  measured.expectations.clear();
  WorkloadConfig& workload = measured.workloads.emplace_back();
  workload.name = options.test.program();
  workload.options = options;
  return measured;
}

}  // namespace weft::lab
