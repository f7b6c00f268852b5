#include "cli/common.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sstream>

#include "lab/lab_reader.h"
#include "lab/report_text.h"

namespace weft::cli {

namespace {

std::atomic<bool> g_interrupted{false};
std::atomic<bool> g_line_shown{false};

// timeout(1) and terminals may deliver one interruption twice: only a second one after a while ends the process.
constexpr std::int64_t kSecondSignal_ns = 500'000'000;
std::atomic<std::int64_t> g_first_signal_ns{0};

void on_signal(int signal) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::int64_t now_ns = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  if (!g_interrupted.exchange(true)) {
    g_first_signal_ns = now_ns;
  } else if (now_ns - g_first_signal_ns > kSecondSignal_ns) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

std::optional<LabFile> load_lab(const std::string& path, const std::vector<std::string>& overrides,
                                std::optional<std::uint64_t> seed) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    fmt::print(stderr, "weft: cannot read {}\n  give the path of a lab file, e.g. labs/first-light.yaml\n", path);
    return std::nullopt;
  }
  auto read = lab::read_lab(text.str(), path, overrides, seed);
  if (!read) {
    for (const lab::Problem& problem : read.error()) fmt::print(stderr, "{}\n", lab::format_problem(path, problem));
    return std::nullopt;
  }
  for (lab::Problem warning : read->warnings) {
    warning.message = "warning: " + warning.message;
    fmt::print(stderr, "{}\n", lab::format_problem(path, warning));
  }
  read->overrides = overrides;
  return LabFile{std::move(*read), text.str()};
}

bool is_simulated(const lab::Lab& lab) {
  const lab::HostConfig* outside = lab::first_outside(lab);
  if (outside == nullptr) return true;
  fmt::print(stderr, "weft: {} is a port to the outside\n  use: weft up {} --clock wall\n", outside->name, lab.file);
  return false;
}

std::optional<std::vector<lab::PortRef>> choose_ports(const lab::Lab& lab, const std::string& choice) {
  std::vector<lab::PortRef> ports;
  if (choice == "none") return ports;
  std::vector<lab::PortRef> cabled;
  for (const lab::LinkConfig& link : lab.links) {
    cabled.push_back(link.a);
    cabled.push_back(link.b);
  }
  if (choice == "all") return cabled;
  std::istringstream names(choice);
  for (std::string name; std::getline(names, name, ',');) {
    bool found = false;
    for (const lab::PortRef& port : cabled) {
      if (lab::port_name(lab, port) != name) continue;
      ports.push_back(port);
      found = true;
    }
    if (!found) {
      fmt::print(stderr, "weft: --capture {}: no cable ends at this port\n  ports:", name);
      for (const lab::PortRef& port : cabled) fmt::print(stderr, " {}", lab::port_name(lab, port));
      fmt::print(stderr, "; or all, or none\n");
      return std::nullopt;
    }
  }
  return ports;
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) fmt::print(stderr, "weft: cannot write {}\n", path);
  return !file.fail();
}

const std::atomic<bool>& interrupted() {
  return g_interrupted;
}

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

std::function<void(Time_ps, const std::string&)> progress_line() {
  if (isatty(STDERR_FILENO) == 0) return {};
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  auto next = start + std::chrono::seconds(1);
  return [start, next](Time_ps now_ps, const std::string& name) mutable {
    auto now = Clock::now();
    if (now < next) return;
    next = now + std::chrono::milliseconds(200);
    g_line_shown = true;
    fmt::print(stderr, "\r\x1b[K{}: {} simulated in {:.1f} s", name, lab::time_text(now_ps),
               std::chrono::duration<double>(now - start).count());
    std::fflush(stderr);
  };
}

void clear_progress_line() {
  if (g_line_shown.exchange(false)) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace weft::cli
