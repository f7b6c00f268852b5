#include "cli/json_progress.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "cli/common.h"

namespace weft::cli {

namespace {

using ProgressClock = std::chrono::steady_clock;
constexpr auto kProgressInterval = std::chrono::milliseconds(100);

}  // namespace

void add_progress_option(CLI::App& verb, std::string& progress) {
  verb.add_option("--progress", progress, "auto: a line on a terminal; json: a JSON object every 100 ms on stderr")
      ->check(CLI::IsMember({"auto", "json"}));
}

lab::Session::Subscriber json_progress() {
  const auto start = ProgressClock::now();
  return [start, next = start](const lab::SessionProgress& progress) mutable {
    const auto now = ProgressClock::now();
    if (now < next) return;
    next = now + kProgressInterval;
    fmt::print(stderr, "{{\"now_ps\": {}, \"workload\": {}, \"wall_s\": {:.3f}}}\n", progress.now_ps,
               json_string(progress.workload), std::chrono::duration<double>(now - start).count());
    std::fflush(stderr);
  };
}

lab::Session::Subscriber chosen_progress(const std::string& progress) {
  return progress == "json" ? json_progress() : show_progress();
}

void put_json_progress(std::size_t done, std::size_t of, double wall_s) {
  fmt::print(stderr, "{{\"done\": {}, \"of\": {}, \"wall_s\": {:.3f}}}\n", done, of, wall_s);
  std::fflush(stderr);
}

}  // namespace weft::cli
