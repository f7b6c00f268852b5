// Capture writing, to a file that costs nothing, and reading back.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "pcap/pcap_reader.h"
#include "pcap/pcapng.h"

namespace weft::pcap {
namespace {

constexpr std::string_view kComment = "CE marked: queue 3 at 412 kB";

void BM_PcapngWrite(benchmark::State& state) {
  auto writer = PcapngWriter::create("/dev/null");
  if (!writer) {
    state.SkipWithError("cannot open /dev/null");
    return;
  }
  writer->add_interface("h1:mlx5_0", 100'000'000'000);
  const std::vector<std::uint8_t> frame(static_cast<std::size_t>(state.range(0)), 0x5a);
  const std::string_view comment = state.range(1) != 0 ? kComment : std::string_view();
  std::int64_t time_ns = 0;
  for (auto _ : state) writer->write(0, ++time_ns, true, frame, comment);
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PcapngWrite)->Args({62, 0})->Args({1082, 0})->Args({4154, 0})->Args({4154, 1});

void BM_PcapngRead(benchmark::State& state) {
  constexpr int kPackets = 1000;
  std::vector<std::uint8_t> file(16 * 1024 * 1024);
  std::FILE* memory = fmemopen(file.data(), file.size(), "wb");
  if (memory == nullptr) {
    state.SkipWithError("no memory file");
    return;
  }
  PcapngWriter writer(memory);
  writer.add_interface("h1:mlx5_0", 100'000'000'000);
  const std::vector<std::uint8_t> frame(static_cast<std::size_t>(state.range(0)), 0x5a);
  for (int i = 0; i < kPackets; ++i) writer.write(0, i, true, frame, kComment);
  writer.close();
  file.resize(static_cast<std::size_t>(std::ftell(memory)));
  std::fclose(memory);
  for (auto _ : state) benchmark::DoNotOptimize(read_capture(file));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(file.size()));
  state.SetItemsProcessed(state.iterations() * kPackets);
}
BENCHMARK(BM_PcapngRead)->Arg(1082)->Arg(4154);

}  // namespace
}  // namespace weft::pcap
