// weft up LAB: brings up a lab as a world that programs run in.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/files.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "cli/worlds.h"
#include "live/os/environment.h"
#include "live/os/place.h"
#include "live/server.h"
#include "results/report.h"
#include "results/results_json.h"
#include "world/session.h"

namespace weft::cli {

namespace {

namespace fs = std::filesystem;

struct UpArguments {
  std::string lab, name, clock = "virtual", capture = "none", out;
  std::vector<std::string> set;
  std::optional<std::uint64_t> seed;
  CaptureArguments limits;
  bool foreground = false;
  bool json = false;
};

std::string announcement(const lab::Lab& lab, const std::string& world, bool wall, int pid, bool json) {
  std::vector<std::string> nodes;
  for (const lab::HostConfig& host : lab.hosts) nodes.push_back(json ? json_string(host.name) : host.name);
  if (json)
    return fmt::format("{{\"world\": {}, \"clock\": \"{}\", \"pid\": {}, \"nodes\": [{}]}}\n", json_string(world),
                       wall ? "wall" : "virtual", pid, fmt::join(nodes, ", "));
  return fmt::format("world {} is up, {}; nodes: {}\n  weft exec {} -- ibv_devinfo\n", world,
                     wall ? "in wall-clock mode" : "in virtual time", fmt::join(nodes, " "), nodes.front());
}

// Messages of the world to `weft up`, which waits for it.
constexpr const char* kReady = "ready";

int tell(int fd, const std::string& text) {
  const bool told = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return told && text == kReady ? kExitWell : kExitWrongInput;
}

std::string everything_from(int fd) {
  std::string text;
  char bytes[512];
  for (;;) {
    const ssize_t got = read(fd, bytes, sizeof(bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(bytes, static_cast<std::size_t>(got));
  }
}

int up(const UpArguments& arguments) {
  use_json(arguments.json);
  auto file = load_lab(arguments.lab, arguments.set, arguments.seed);
  if (!file) return kExitWrongInput;
  if (file->lab.hosts.empty()) return complain("the lab has no hosts: nothing could run in this world");
  auto ports = choose_ports(file->lab, arguments.capture);
  auto limits = read_capture_options(arguments.limits);
  if (!ports || !limits) return kExitWrongInput;
  limit_large_capture(file->lab, *ports, false, *limits);
  limits->in_place = true;  // somebody may look at it while the world is up
  auto directory = live::runtime_directory();
  if (!directory) return complain(directory.error());
  std::string name = arguments.name.empty() ? file->lab.name : arguments.name;
  if (!live::is_world_name(name))
    return complain(
        fmt::format("'{}' cannot be the name of a world; with --name, use up to {} letters, digits, '-', '_' and '.'",
                    name, live::kLongestWorldName));
  bool wall = arguments.clock == "wall";
  if (!wall && !live::can_trap_counter()) {
    complain("this kernel cannot trap reads of the CPU's counter (arm64: before Linux 6.12); wall clock instead");
    wall = true;
  }
  if (const lab::HostConfig* outside = lab::first_outside(file->lab); outside != nullptr && !wall)
    return complain(fmt::format("{} is a port to the outside, where time is real; add --clock wall", outside->name));
  auto outside = live::open_outside(file->lab);
  if (!outside) return complain(outside.error());
  const std::string out = arguments.out.empty() ? "runs/" + name : arguments.out;
  std::optional<DirectoryLock> lock;
  if (!ports->empty() || !file->lab.mirrors.empty() || !arguments.out.empty()) {
    lock = DirectoryLock::take(out);
    if (!lock) return kExitWrongInput;
    std::error_code ignored;
    for (const char* each : {"/report.md", "/results.json"}) fs::remove(out + each, ignored);
    for (const char* each : {"/capture.pcapng", "/mirror.pcapng"})
      for (const std::string& old : observe::capture_files(out + each)) fs::remove(old, ignored);
  }
  auto place = live::listen_at(*directory, name);
  if (!place) return complain(place.error());
  int ready[2] = {-1, -1};
  if (!arguments.foreground) {
    std::fflush(nullptr);
    if (pipe2(ready, O_CLOEXEC) != 0) return complain(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    pid_t child = fork();
    if (child < 0) return complain(fmt::format("cannot start the world: {}", std::strerror(errno)));
    if (child > 0) {
      close(ready[1]);
      std::string said = everything_from(ready[0]);
      if (said != kReady) return complain(said.empty() ? "the world ended before it was up" : said);
      put(announcement(file->lab, name, wall, child, arguments.json));
      return kExitWell;
    }
    setsid();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd : {0, 1, 2}) dup2(null, fd);
  }
  signal(SIGPIPE, SIG_IGN);
  catch_interrupts();
  lab::SessionOptions options;
  options.open_ended = true;
  options.clock_runs = wall;
  options.capture_ports = *ports;
  options.capture_path = out + "/capture.pcapng";
  options.mirror_path = out + "/mirror.pcapng";
  options.capture = *limits;
  auto session = lab::Session::open(file->lab, options);
  if (!session) {
    std::error_code error;
    fs::remove_all(*directory + "/" + name, error);
    return arguments.foreground ? complain(session.error()) : tell(ready[1], session.error());
  }
  live::Server server(**session, place->listener, wall ? verbs::Clock::kWall : verbs::Clock::kVirtual,
                      std::move(*outside));
  server.take_commands(lab::LiveReader(file->text, arguments.lab, arguments.set, arguments.seed));
  server.set_sysfs([&](std::uint32_t host) { return live::sysfs_path(*directory, name, file->lab.hosts[host].name); });
  if (arguments.foreground) {
    put(announcement(file->lab, name, wall, getpid(), arguments.json));
    std::fflush(stdout);
  } else {
    tell(ready[1], kReady);
  }
  server.run(interrupted());
  lab::RunResult result = (*session)->finish();
  result.commands = server.commands();
  std::error_code error;
  fs::remove_all(*directory + "/" + name, error);
  if (!result.capture_error.empty()) return failed(result.capture_error);
  if (arguments.out.empty()) return kExitWell;
  auto written = lab::write_results_json(out + "/results.json", file->lab, result);
  if (written) written = write_file(out + "/report.md", lab::report(file->lab, result, {"."}));
  return written ? kExitWell : failed(written.error());
}

}  // namespace

void add_up(CLI::App& app, int& status) {
  auto up_arguments = std::make_shared<UpArguments>();
  CLI::App* verb = app.add_subcommand("up", "Bring up a lab as a world that programs run in");
  verb->add_option("LAB", up_arguments->lab, "Lab file (docs/lab-file.md)")->required();
  verb->add_option("--name", up_arguments->name, "Name of the world (default: the lab's)");
  verb->add_option("--seed", up_arguments->seed, "Seed of every random choice (default: the lab's)")
      ->check(whole_number(0, UINT64_MAX));
  verb->add_option("--set", up_arguments->set, "Change the lab: path=value; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_option("--clock", up_arguments->clock, "virtual: programs see the simulated time; wall: the real one")
      ->check(CLI::IsMember({"virtual", "wall"}));
  verb->add_option("--capture", up_arguments->capture, "Ports to capture: PORT[,PORT], all or none (default none)");
  add_capture_options(*verb, up_arguments->limits);
  verb->add_option("--out", up_arguments->out,
                   "Directory for captures (default runs/NAME), and for report.md and results.json at the end");
  verb->add_flag("--foreground", up_arguments->foreground, "Stay in the foreground until interrupted");
  verb->add_flag("--json", up_arguments->json, "Say what is up as JSON");
  verb->callback([up_arguments, &status] { status = up(*up_arguments); });
}

}  // namespace weft::cli
