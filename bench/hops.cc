// Plays one work and says how many hops it took: for a profiler, which then knows instructions per hop
// (bench/instructions.sh). Usage: weft_hops perm|incast K FLOW_BYTES [THREADS]; K 0: 64 hosts in a leaf-spine.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "fabric_play.h"

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: weft_hops perm|incast K FLOW_BYTES [THREADS]\n", stderr);
    return 2;
  }
  weft::bench::Work work;
  work.incast = std::string(argv[1]) == "incast";
  work.k = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  work.size_B = std::strtoull(argv[3], nullptr, 10);
  const auto threads = argc > 4 ? static_cast<std::uint32_t>(std::strtoul(argv[4], nullptr, 10)) : 1;
  const weft::bench::Played played = weft::bench::play(work, threads);
  fmt::print(
      "hops {} events {} windows {} digest {:016x} run_s {:.4f} Mhop/s {:.2f} by_cpu_time {:.2f} us_per_window {:.2f} "
      "setup_s {:.4f} whole_s {:.4f}\n",
      played.hops, played.events, played.windows, played.digest, played.run_s,
      static_cast<double>(played.hops) / played.run_s * 1e-6, static_cast<double>(played.hops) / played.cpu_s * 1e-6,
      played.run_s * 1e6 / static_cast<double>(played.windows), played.setup_s, played.whole_s);
  return 0;
}
