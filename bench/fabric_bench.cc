// Packet-hops and events per second through whole fabrics, as a user would write them: fat trees from the template, a
// switch and a NIC of the catalog, PFC, ECN and DCQCN on, counters kept, nothing captured. A hop is one link traversal
// of one packet, ACKs included, pause frames not. Set-up (lab text to the first event) is timed apart; peak_rss_MB is
// the process's highest so far, so that it belongs to the largest fabric yet: choose one with --benchmark_filter.
// WEFT_BENCH_MATRICES names a folder with connection matrices to play (perm_128_2MB.cm, …); without it permutations are
// drawn with seed 1.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>

#include "fabric_play.h"

namespace {

using weft::bench::play;
using weft::bench::Played;
using weft::bench::Work;

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
// Must give the digest of one thread. With more threads than cores they take turns, which shows what meeting costs.
void Permutation1024Threads(benchmark::State& state) {
  bench(state, kPermutation1024, static_cast<std::uint32_t>(state.range(0)), play(kPermutation1024, 1).digest);
}
void Permutation8192(benchmark::State& state) {
  bench(state, kPermutation8192);
}

BENCHMARK(Permutation128)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Incast127To1)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Permutation1024)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(Permutation1024Threads)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Apply([](benchmark::internal::Benchmark* each) {
      for (unsigned threads = 2; threads <= std::min(16U, std::max(2U, std::thread::hardware_concurrency()));
           threads *= 2)
        each->Arg(threads);
    });
BENCHMARK(Permutation8192)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
