#include "cli/common.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/figures.h"
#include "base/files.h"
#include "base/nearest.h"
#include "base/plural.h"
#include "labfile/reader.h"
#include "results/report_text.h"
#include "text/units.h"
#include "world/capture_estimate.h"

namespace weft::cli {

namespace {

constexpr std::size_t kLargestLab_B = 16'000'000;  // a hundred thousand hosts, written out

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
                                std::optional<std::uint64_t> seed, bool warn, lab::Trust trust) {
  auto text = read_file(path, kLargestLab_B);
  if (!text) {
    wrong_input(fmt::format("cannot read {}: {}", path, text.error()),
                "give the path of a lab file, e.g. labs/first-light.yaml");
    return std::nullopt;
  }
  auto read = lab::read_lab(*text, path, overrides, seed, trust);
  if (!read) {
    for (const lab::Problem& problem : read.error()) report_problem(path, problem);
    return std::nullopt;
  }
  for (const lab::Problem& warning : read->warnings) {
    if (warn) report_warning(path, warning);
  }
  read->overrides = overrides;
  return LabFile{std::move(*read), std::move(*text)};
}

void add_untrusted_option(CLI::App& verb, lab::Trust& trust) {
  verb.add_flag_callback(
      "--untrusted", [&trust] { trust = lab::Trust::kNothing; },
      "Refuse a lab that starts programs, names files of this machine or has ports to the outside");
}

bool is_simulated(const lab::Lab& lab) {
  const lab::HostConfig* outside = lab::first_outside(lab);
  if (outside == nullptr) return true;
  wrong_input(fmt::format("{} is a port to the outside", outside->name),
              fmt::format("use: weft up {} --clock wall", lab.file));
  return false;
}

std::optional<std::vector<lab::PortRef>> choose_ports(const lab::Lab& lab, const std::string& choice) {
  std::vector<lab::PortRef> ports;
  if (choice == "none") return ports;
  std::vector<lab::PortRef> cabled;
  std::vector<std::string> known;
  for (const lab::LinkConfig& link : lab.links) {
    for (const lab::PortRef& port : {link.a, link.b}) {
      cabled.push_back(port);
      known.push_back(lab::port_name(lab, port));
    }
  }
  if (choice == "all") return cabled;
  std::istringstream names(choice);
  for (std::string name; std::getline(names, name, ',');) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found != known.end()) {
      ports.push_back(cabled[static_cast<std::size_t>(found - known.begin())]);
      continue;
    }
    if (const auto unknown = lab::unknown_node(lab, name)) {
      wrong_input(fmt::format("--capture {}: {}", name, unknown->message), unknown->remedy + " (or all, or none)");
      return std::nullopt;
    }
    std::vector<std::string_view> views(known.begin(), known.end());
    wrong_input(fmt::format("--capture {}: no cable ends at this port", name),
                did_you_mean(name, views, "ports") + " (or all, or none)");
    return std::nullopt;
  }
  if (ports.empty()) {
    wrong_input("--capture names no port", "write --capture PORT[,PORT], all or none");
    return std::nullopt;
  }
  return ports;
}

void add_capture_options(CLI::App& verb, CaptureArguments& arguments) {
  verb.add_option("--snaplen", arguments.snaplen, "Capture this much of each frame, e.g. '128 B' (default: all)");
  verb.add_option(
      "--capture-size", arguments.size,
      "Largest size of a capture file, e.g. '100 MB'; it ends there, or begins the next of --capture-files");
  verb.add_option("--capture-files", arguments.files, "Keep this many files of --capture-size, the newest ones")
      ->check(whole_number(1, 100'000));
}

std::optional<observe::CaptureOptions> read_capture_options(const CaptureArguments& arguments) {
  observe::CaptureOptions options;
  const auto read = [](const char* name, const std::string& text, std::int64_t least) -> std::optional<std::int64_t> {
    if (text.empty()) return 0;
    // tcpdump's plain number of bytes, too.
    const bool plain = text.find_first_not_of("0123456789") == text.npos;
    auto size = lab::parse_quantity(plain ? text + " B" : text, lab::Quantity::kSize);
    if (size && *size >= least) return *size;
    wrong_input(
        fmt::format("{} {}: {}", name, text, size ? fmt::format("less than {} B", least) : size.error().message),
        size ? fmt::format("write {} B or more", least) : size.error().remedy);
    return std::nullopt;
  };
  // The shortest that still has the headers of Ethernet, IPv4 and UDP; room for some frames.
  const auto snaplen = read("--snaplen", arguments.snaplen, 42), size = read("--capture-size", arguments.size, 100'000);
  if (!snaplen || !size) return std::nullopt;
  options.snaplen_B = static_cast<std::uint32_t>(std::min<std::int64_t>(*snaplen, UINT32_MAX));
  options.file_B = static_cast<std::uint64_t>(*size);
  options.files = arguments.files;
  if (options.files > 0 && options.file_B == 0) {
    wrong_input("--capture-files without --capture-size", "set the size of each file, e.g. --capture-size '100 MB'");
    return std::nullopt;
  }
  return options;
}

void limit_large_capture(const lab::Lab& lab, const std::vector<lab::PortRef>& ports, bool runs_workloads,
                         observe::CaptureOptions& options) {
  constexpr std::size_t kManyPorts = 128;
  constexpr std::uint64_t kLimit_B = observe::kUsualLimit_B;
  constexpr double kLarge_B = 1e9;
  if (ports.empty() || options.file_B != 0) return;
  if (!runs_workloads) {
    options.file_B = kLimit_B;
    fmt::print(stderr, "weft: the capture ends at {}; --capture-size sets another limit\n",
               message_size_text(kLimit_B));
    return;
  }
  const lab::CaptureEstimate estimate = lab::estimate_capture(lab, ports, options.snaplen_B);
  const bool is_known = estimate.is_whole;
  if (is_known ? estimate.file_B < kLarge_B : ports.size() < kManyPorts || options.snaplen_B != 0) return;
  options.file_B = kLimit_B;
  const std::string remedy =
      fmt::format("the capture ends at {}; {}--capture PORT[,PORT] chooses ports, --capture-size sets another limit",
                  message_size_text(kLimit_B), options.snaplen_B == 0 ? "--snaplen '128 B' keeps headers, " : "");
  if (is_known) {
    fmt::print(stderr, "weft: {} {} will be about {} (an estimate, from what the workloads send): {}\n",
               options.snaplen_B == 0 ? "whole frames of" : "frames of", counted(ports.size(), "port"),
               size_text(estimate.file_B, 2), remedy);
  } else {
    fmt::print(stderr, "weft: whole frames of {} are up to {} in each ms at full load: {}\n",
               counted(ports.size(), "port"), size_text(estimate.full_Bps / 1e3, 2), remedy);
  }
}

std::function<std::string(const std::string&)> whole_number(std::uint64_t least, std::uint64_t most) {
  return [least, most](const std::string& text) {
    const auto number = lab::parse_unsigned(text);
    if (number && *number >= least && *number <= most) return std::string();
    constexpr std::size_t kShown = 40;
    return fmt::format("{} is not a whole number from {} to {}",
                       text.size() > kShown ? text.substr(0, kShown) + "…" : text, least, most);
  };
}

namespace {

// False: it was removed or renamed between its opening and its locking (weft serve, DELETE).
bool is_still_there(int fd, const std::string& directory) {
  struct stat open {
  }, named{};
  return fstat(fd, &open) == 0 && stat(directory.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

}  // namespace

std::optional<DirectoryLock> DirectoryLock::take(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const char* const elsewhere = "choose another place with --out DIR";
  if (error) {
    wrong_input(fmt::format("cannot make {}: {}", directory, error.message()), elsewhere);
    return std::nullopt;
  }
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    wrong_input(fmt::format("cannot write to {}: {}", directory, std::strerror(errno)), elsewhere);
    return std::nullopt;
  }
  // A file system without locks is used without. Who looks whether somebody writes here (weft serve) holds it for a
  // moment.
  constexpr int kTries = 20;
  int tried = 0;
  bool held = false;
  while ((held = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) && ++tried < kTries)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (held) {
    close(fd);
    wrong_input(fmt::format("another weft is writing to {}", directory),
                "wait until it has ended, or choose another place with --out DIR");
    return std::nullopt;
  }
  if (!is_still_there(fd, directory)) {
    close(fd);
    return take(directory);
  }
  return DirectoryLock(fd);
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) close(fd_);
}

std::atomic<bool>& interrupted() {
  return g_interrupted;
}

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  // Ignored: nohup wants it to go on when the terminal is gone.
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

void show_progress_text(const std::string& text) {
  g_line_shown = true;
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
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
    show_progress_text(fmt::format("{}: {} simulated in {}", name, moment_text(now_ps),
                                   time_text(1e12 * std::chrono::duration<double>(now - start).count())));
  };
}

lab::Session::Subscriber show_progress() {
  auto line = progress_line();
  if (!line) return {};
  return [line](const lab::SessionProgress& progress) { line(progress.now_ps, progress.workload); };
}

void clear_progress_line() {
  if (g_line_shown.exchange(false)) fmt::print(stderr, "\r\x1b[K");
}

}  // namespace weft::cli
