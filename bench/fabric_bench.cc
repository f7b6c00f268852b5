// Packet-hops and events per second through whole fabrics, as a user would write them: fat trees from the template, a
// switch and a NIC of the catalog, PFC, ECN and DCQCN on, counters kept, nothing captured. A hop is one link traversal
// of one packet, ACKs included, pause frames not. Set-up (lab text to the first event) is timed apart; peak_rss_MB is
// the process's highest so far, so that it belongs to the largest fabric yet: choose one with --benchmark_filter.
// WEFT_BENCH_MATRICES names a folder with connection matrices to play (perm_128_2MB.cm, …); without it permutations are
// drawn with seed 1.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include "base/hash.h"
#include "base/huge_pages.h"
#include "labfile/reader.h"
#include "workload/flow_matrix.h"
#include "workload/flow_patterns.h"
#include "workload/flow_run.h"
#include "world/world.h"

namespace {

using namespace weft;

struct Work {
  std::uint32_t k = 8;  // of the fat tree: k^3 / 4 hosts
  std::string matrix;   // file name, where there is one
  bool incast = false;  // all to host 0; else a permutation
  std::uint64_t size_B = 2'000'000;
};

lab::Lab fat_tree(std::uint32_t k) {
  std::string text = fmt::format(R"(version: 1
name: bench
fabric:
  template: fat-tree
  k: {}
  switch: sn3700c
  host: {{nic: cx5-100g, mtu: 4200 B}}
  cable: {{kind: fibre, latency: 1 us}}
  uplink_cable: {{kind: fibre, latency: 1 us}}
qos: {{profile: roce-lossless}}
)",
                                 k);
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

struct Played {
  std::uint64_t hops = 0, events = 0, digest = kFnvOffset;
  double setup_s = 0, run_s = 0, cpu_s = 0;  // cpu_s: of the run, all threads
  workload::FlowSummary summary;
};

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_now_s() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Played play(const Work& work, std::uint32_t threads) {
  use_huge_pages();  // as the program does
  Played played;
  double start_s = now_s();
  lab::Lab lab = fat_tree(work.k);
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
  world.engine().run(kNever_ps, threads);
  played.setup_s = running_s - start_s;
  played.run_s = now_s() - running_s;
  played.cpu_s = cpu_now_s() - cpu_s;
  for (std::uint32_t s = 0; s < world.switch_count(); ++s) {
    world.fabric_switch(s).settle_ledgers();
    if (!world.fabric_switch(s).balances()) throw std::runtime_error("a switch lost or made packets");
  }
  played.hops = world.hops();
  played.events = world.events();
  played.summary = workload::summarise(run.rows());
  for (const workload::FlowRow& row : run.rows())
    played.digest = fnv1a({reinterpret_cast<const std::uint8_t*>(&row.end_ps), sizeof row.end_ps}, played.digest);
  if (played.summary.done != run.rows().size()) throw std::runtime_error("not all flows are done");
  return played;
}

double peak_rss_MB() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// The time of an iteration is the run alone.
void bench(benchmark::State& state, const Work& work, std::uint32_t threads = 1,
           std::optional<std::uint64_t> expected_digest = {}) {
  std::uint64_t hops = 0, events = 0;
  double setup_s = 0, cpu_s = 0;
  Played last;
  for (auto _ : state) {
    last = play(work, threads);
    state.SetIterationTime(last.run_s);
    hops += last.hops;
    events += last.events;
    setup_s += last.setup_s;
    cpu_s += last.cpu_s;
    if (expected_digest && last.digest != *expected_digest) state.SkipWithError("another result than on one thread");
  }
  auto rate = [](std::uint64_t n) { return benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsRate); };
  state.counters["packet_hops"] = rate(hops);
  state.counters["events"] = rate(events);
  // What does not depend on who else uses the machine.
  state.counters["packet_hops_per_cpu_s"] = static_cast<double>(hops) / cpu_s;
  state.counters["setup_ms"] = benchmark::Counter(setup_s * 1e3, benchmark::Counter::kAvgIterations);
  state.counters["peak_rss_MB"] = peak_rss_MB();
  state.counters["last_flow_us"] = static_cast<double>(last.summary.last_end_ps) * 1e-6;
}

const Work kPermutation128{8, "perm_128_2MB.cm", false, 2'000'000};
const Work kPermutation1024{16, "perm_1024_2MB.cm", false, 2'000'000};
const Work kIncast128{8, "incast_128_127to1_2MB.cm", true, 2'000'000};
const Work kPermutation8192{32, "", false, 1'000'000};

void Permutation128(benchmark::State& state) {
  bench(state, kPermutation128);
}
void Incast127To1(benchmark::State& state) {
  bench(state, kIncast128);
}
void Permutation1024(benchmark::State& state) {
  bench(state, kPermutation1024);
}
void Permutation1024TwoThreads(benchmark::State& state) {
  bench(state, kPermutation1024, 2, play(kPermutation1024, 1).digest);
}
void Permutation8192(benchmark::State& state) {
  bench(state, kPermutation8192);
}

BENCHMARK(Permutation128)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Incast127To1)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Permutation1024)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Permutation1024TwoThreads)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(Permutation8192)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
