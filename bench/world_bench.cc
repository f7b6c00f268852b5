// Packet-hops and events per second between two hosts with nothing captured: the whole NIC model, one core.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "labfile/reader.h"
#include "world/runner.h"

namespace {

using namespace weft;

lab::Lab pair_of(const std::string& nic, const std::string& test, const std::string& args) {
  std::string text = fmt::format(R"(version: 1
name: bench
nodes:
  a: {{kind: host, nics: [{{model: {0}, ports: {{p0: {{address: 10.0.0.1/24, mtu: 4200 B}}}}}}]}}
  b: {{kind: host, nics: [{{model: {0}, ports: {{p0: {{address: 10.0.0.2/24, mtu: 4200 B}}}}}}]}}
links:
  - {{endpoints: ["a:p0", "b:p0"], cable: {{kind: dac, length: 1 m}}}}
workloads:
  - {{name: w, perftest: {1}, client: a, server: b, args: "{2}"}}
)",
                                 nic, test, args);
  auto read = lab::read_lab(text, "bench.yaml");
  if (!read) throw std::runtime_error(read.error().front().message);
  return *read;
}

void run(benchmark::State& state, const std::string& nic, const std::string& test, const std::string& args) {
  lab::Lab lab = pair_of(nic, test, args);
  std::uint64_t hops = 0;
  std::uint64_t events = 0;
  for (auto _ : state) {
    auto result = lab::run_lab(lab, {});
    for (const lab::LinkOutcome& link : result->links) hops += link.ledger.sent;
    events += result->events;
  }
  state.counters["packet_hops"] = benchmark::Counter(static_cast<double>(hops), benchmark::Counter::kIsRate);
  state.counters["events"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

void WriteOneMiB25G(benchmark::State& state) {
  run(state, "cx4-lx-25g", "write_bw", "-s 1048576 -n 2000 -N");
}
void WriteOneMiB100G(benchmark::State& state) {
  run(state, "cx5-100g", "write_bw", "-s 1048576 -n 2000 -N");
}
void WriteOneMiB400G(benchmark::State& state) {
  run(state, "cx7-400g", "write_bw", "-s 1048576 -n 2000 -N");
}
void WriteBothWays100G(benchmark::State& state) {
  run(state, "cx5-100g", "write_bw", "-s 1048576 -n 1000 -b -N");
}
void WriteBothWays400G(benchmark::State& state) {
  run(state, "cx7-400g", "write_bw", "-s 1048576 -n 1000 -b -N");
}
void Write64B100G(benchmark::State& state) {
  run(state, "cx5-100g", "write_bw", "-s 64 -n 100000 -N");
}
void ReadOneMiB100G(benchmark::State& state) {
  run(state, "cx5-100g", "read_bw", "-s 1048576 -n 2000 -N");
}
void SendLatency100G(benchmark::State& state) {
  run(state, "cx5-100g", "send_lat", "-n 20000");
}

BENCHMARK(WriteOneMiB25G)->Unit(benchmark::kMillisecond);
BENCHMARK(WriteOneMiB100G)->Unit(benchmark::kMillisecond);
BENCHMARK(WriteOneMiB400G)->Unit(benchmark::kMillisecond);
BENCHMARK(WriteBothWays100G)->Unit(benchmark::kMillisecond);
BENCHMARK(WriteBothWays400G)->Unit(benchmark::kMillisecond);
BENCHMARK(Write64B100G)->Unit(benchmark::kMillisecond);
BENCHMARK(ReadOneMiB100G)->Unit(benchmark::kMillisecond);
BENCHMARK(SendLatency100G)->Unit(benchmark::kMillisecond);

}  // namespace
