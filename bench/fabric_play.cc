#include "fabric_play.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "base/huge_pages.h"
#include "labfile/reader.h"
#include "model/workloads/flow_matrix.h"
#include "model/workloads/flow_patterns.h"
#include "workload/flow/summary.h"
#include "world/world.h"

namespace weft::bench {

namespace {

lab::Lab fabric_of(std::uint32_t k) {
  std::string shape = k == 0 ? "template: leaf-spine\n  hosts: 64\n  leaves: 8\n  spines: 8"
                             : fmt::format("template: fat-tree\n  k: {}", k);
  std::string text = fmt::format(R"(version: 1
name: bench
fabric:
  {}
  switch: sn3700c
  host: {{nic: cx5-100g, mtu: 4200 B}}
  cable: {{kind: fibre, latency: 1 us}}
  uplink_cable: {{kind: fibre, latency: 1 us}}
qos: {{profile: roce-lossless}}
)",
                                 shape);
  auto read = lab::read_lab(text, "bench.yaml");
  if (!read) throw std::runtime_error(read.error().front().message);
  // Templates take no `set` for NICs.
  for (lab::HostConfig& host : read->hosts) host.nics[0].model.ack_interval_packets = 16;
  return std::move(*read);
}

std::optional<std::vector<workload::Flow>> matrix_flows(const std::string& name) {
  const char* folder = std::getenv("WEFT_BENCH_MATRICES");
  if (folder == nullptr || name.empty()) return {};
  std::ifstream file(std::string(folder) + "/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  auto matrix = workload::read_flow_matrix(text.str());
  if (!matrix) throw std::runtime_error(name + ": " + matrix.error().front().message);
  return matrix->flows;
}

std::vector<workload::Flow> flows_of(const Work& work, std::uint32_t hosts) {
  if (auto flows = matrix_flows(work.matrix)) return *flows;
  if (!work.incast) return workload::permutation(hosts, work.size_B, 1);
  std::vector<std::uint32_t> senders(hosts - 1);
  std::iota(senders.begin(), senders.end(), 1U);
  return workload::incast(senders, 0, work.size_B);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_now_s() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

// Marks for a profiler (bench/instructions.sh): it counts from the first and writes down its counts at the second.
[[gnu::noinline, gnu::noclone]] void run_world(lab::World& world, std::uint32_t threads) {
  world.engine().run(kNever_ps, threads);
  asm volatile("");  // no tail call
}
[[gnu::noinline, gnu::noclone]] void run_ended() {
  asm volatile("");
}

Played play(const Work& work, std::uint32_t threads) {
  use_huge_pages();  // as the program does
  Played played;
  double start_s = now_s();
  lab::Lab lab = fabric_of(work.k);
  auto hosts = static_cast<std::uint32_t>(lab.hosts.size());
  lab::WorldOptions options;
  options.domains = threads;
  lab::World world(lab, options);
  std::vector<workload::Endpoint> ends;
  for (std::uint32_t h = 0; h < hosts; ++h) ends.push_back(world.endpoint({h, 0, 0}, 0));
  workload::FlowOptions flows;
  flows.flows = flows_of(work, hosts);
  workload::FlowRun run(std::move(flows), std::move(ends));
  run.start_phase(0);
  double running_s = now_s();
  double cpu_s = cpu_now_s();
  run_world(world, threads);
  played.setup_s = running_s - start_s;
  played.run_s = now_s() - running_s;
  played.cpu_s = cpu_now_s() - cpu_s;
  run_ended();
  for (std::uint32_t s = 0; s < world.switch_count(); ++s) {
    world.fabric_switch(s).settle_ledgers();
    if (!world.fabric_switch(s).balances()) throw std::runtime_error("a switch lost or duplicated packets");
  }
  played.hops = world.hops();
  played.events = world.events();
  played.windows = world.engine().windows();
  played.summary = workload::summarise(run.rows());
  for (const workload::FlowRow& row : run.rows())
    played.digest = fnv1a({reinterpret_cast<const std::uint8_t*>(&row.end_ps), sizeof row.end_ps}, played.digest);
  if (played.summary.done != run.rows().size()) throw std::runtime_error("not all flows are done");
  played.whole_s = now_s() - start_s;
  return played;
}

}  // namespace weft::bench
