// Plays one work and says how many hops it took: for a profiler, which then knows instructions per hop
// (bench/instructions.sh). Usage: weft_hops perm|incast K FLOW_BYTES [THREADS]; K 0: 64 hosts in a leaf-spine.
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string_view>

#include "fabric_play.h"

namespace {

// All of `text` is a number from `least` to `most`.
template <typename T>
bool read_number(std::string_view text, T least, T most, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most;
}

}  // namespace

int main(int argc, char** argv) try {
  weft::bench::Work work;
  std::uint32_t threads = 1;
  const std::string_view kind = argc > 1 ? argv[1] : "";
  work.incast = kind == "incast";
  if (argc < 4 || argc > 5 || (kind != "perm" && kind != "incast") || !read_number(argv[2], 0U, 64U, work.k) ||
      !read_number<std::uint64_t>(argv[3], 1, std::uint64_t{1} << 40, work.size_B) ||
      (argc == 5 && !read_number(argv[4], 1U, 256U, threads))) {
    std::fputs(
        "usage: weft_hops perm|incast K FLOW_BYTES [THREADS]\n"
        "  K: of a fat tree, even, to 64; 0: 64 hosts in a leaf-spine\n  THREADS: 1 to 256\n",
        stderr);
    return 2;
  }
  const weft::bench::Played played = weft::bench::play(work, threads);
  fmt::print(
      "hops {} events {} windows {} digest {:016x} run_s {:.4f} Mhop/s {:.2f} by_cpu_time {:.2f} us_per_window {:.2f} "
      "setup_s {:.4f} whole_s {:.4f}\n",
      played.hops, played.events, played.windows, played.digest, played.run_s,
      static_cast<double>(played.hops) / played.run_s * 1e-6, static_cast<double>(played.hops) / played.cpu_s * 1e-6,
      played.run_s * 1e6 / static_cast<double>(played.windows), played.setup_s, played.whole_s);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "weft_hops: %s\n", error.what());
  return 2;
}
