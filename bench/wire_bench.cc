// ICRC and whole frames at the two sizes that RoCE traffic has: 1024 and 4096 bytes of payload.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "wire/crc32.h"
#include "wire/icrc.h"
#include "wire/roce_frame.h"

namespace weft::wire {
namespace {

RoceHeaders middle_packet() {
  RoceHeaders headers;
  headers.src_ip = ipv4_mapped(10, 0, 0, 1);
  headers.dst_ip = ipv4_mapped(10, 0, 0, 2);
  headers.opcode = Opcode::kWriteMiddle;
  return headers;
}

std::vector<std::uint8_t> frame_of(std::size_t frame_B) {
  std::vector<std::uint8_t> frame(frame_B);
  build_roce_frame(middle_packet(), std::vector<std::uint8_t>(frame_B - 58, 0x5a), frame);
  return frame;
}

void set_bytes(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.SetItemsProcessed(state.iterations());
}

void BM_Crc32(benchmark::State& state, Crc32Method method) {
  if (!is_available(method)) {
    state.SkipWithError("not on this CPU");
    return;
  }
  const auto frame = frame_of(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(crc32_update(method, kCrc32Init, frame));
  set_bytes(state);
}
BENCHMARK_CAPTURE(BM_Crc32, table, Crc32Method::kTable)->Arg(1082)->Arg(4154);
BENCHMARK_CAPTURE(BM_Crc32, arm_crc32, Crc32Method::kArmCrc32)->Arg(1082)->Arg(4154);
BENCHMARK_CAPTURE(BM_Crc32, x86_pclmul, Crc32Method::kX86Pclmul)->Arg(1082)->Arg(4154);

void BM_Icrc(benchmark::State& state) {
  const auto frame = frame_of(static_cast<std::size_t>(state.range(0)));
  const Bytes packet = Bytes(frame).subspan(14, frame.size() - 18);
  for (auto _ : state) benchmark::DoNotOptimize(icrc(packet));
  set_bytes(state);
}
BENCHMARK(BM_Icrc)->Arg(62)->Arg(1082)->Arg(4154);

void BM_BuildRoceFrame(benchmark::State& state) {
  const RoceHeaders headers = middle_packet();
  const std::vector<std::uint8_t> payload(static_cast<std::size_t>(state.range(0)) - 58, 0x5a);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(build_roce_frame(headers, payload, out));
    benchmark::ClobberMemory();
  }
  set_bytes(state);
}
BENCHMARK(BM_BuildRoceFrame)->Arg(1082)->Arg(4154);

void BM_ParseRoceFrame(benchmark::State& state) {
  const auto frame = frame_of(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(parse_roce_frame(frame));
  set_bytes(state);
}
BENCHMARK(BM_ParseRoceFrame)->Arg(1082)->Arg(4154);

}  // namespace
}  // namespace weft::wire
