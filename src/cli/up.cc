// weft up, exec, ps, down: a world that programs run in.
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

#include "cli/common.h"
#include "cli/verbs.h"
#include "live/place.h"
#include "live/server.h"
#include "live/sysfs.h"

namespace weft::cli {

namespace {

namespace fs = std::filesystem;

struct UpArguments {
  std::string lab, name, clock = "virtual";
  std::vector<std::string> set;
  std::optional<std::uint64_t> seed;
  bool foreground = false;
};
struct ExecArguments {
  std::string world, node;
  std::vector<std::string> command;
};

int complain(const std::string& what) {
  fmt::print(stderr, "weft: {}\n", what);
  return kExitWrongInput;
}

std::string sysfs_path(const std::string& directory, const std::string& world, const std::string& node) {
  return directory + "/" + world + "/sysfs/" + node;
}

int up(const UpArguments& arguments) {
  auto file = load_lab(arguments.lab, arguments.set, arguments.seed);
  if (!file) return kExitWrongInput;
  if (file->lab.hosts.empty()) return complain("the lab has no hosts: nothing could run in this world");
  auto directory = live::runtime_directory();
  if (!directory) return complain(directory.error());
  std::string name = arguments.name.empty() ? file->lab.name : arguments.name;
  if (name.find('/') != name.npos || name.front() == '.')
    return complain(fmt::format("'{}' cannot be the name of a world; use letters, digits and '-'", name));
  bool wall = arguments.clock == "wall";
  if (const lab::HostConfig* outside = lab::first_outside(file->lab); outside != nullptr && !wall)
    return complain(fmt::format("{} is a port to the outside, where time is real; add --clock wall", outside->name));
  auto outside = live::open_outside(file->lab);
  if (!outside) return complain(outside.error());
  auto listener = live::listen_at(*directory, name);
  if (!listener) return complain(listener.error());
  std::string nodes;
  for (const lab::HostConfig& host : file->lab.hosts) nodes += (nodes.empty() ? "" : " ") + host.name;
  int ready[2] = {-1, -1};
  if (!arguments.foreground) {
    std::fflush(nullptr);
    if (pipe2(ready, O_CLOEXEC) != 0) return complain(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    pid_t child = fork();
    if (child < 0) return complain(fmt::format("cannot start the world: {}", std::strerror(errno)));
    if (child > 0) {
      close(ready[1]);
      char byte = 0;
      if (read(ready[0], &byte, 1) != 1) return complain("the world ended before it was up");
      fmt::print("world {} is up, {}; nodes: {}\n", name, wall ? "with the wall's clock" : "in virtual time", nodes);
      fmt::print("  weft exec {} -- ibv_devinfo\n", file->lab.hosts.front().name);
      return kExitWell;
    }
    setsid();
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd : {0, 1, 2}) dup2(null, fd);
  }
  signal(SIGPIPE, SIG_IGN);
  catch_interrupts();
  live::Server server(file->lab, *listener, wall ? verbs::Clock::kWall : verbs::Clock::kVirtual, std::move(*outside));
  for (std::uint32_t i = 0; i < file->lab.hosts.size(); ++i)
    if (!file->lab.hosts[i].outside)
      live::write_sysfs(sysfs_path(*directory, name, file->lab.hosts[i].name), server.devices_of(i),
                        file->lab.hosts[i].name);
  if (ready[1] >= 0 && write(ready[1], "", 1) == 1) close(ready[1]);
  server.run(interrupted());
  std::error_code error;
  fs::remove_all(*directory + "/" + name, error);
  return kExitWell;
}

// The world that is meant: the one named, or the only one that is up.
tl::expected<std::string, std::string> choose_world(const std::string& directory, const std::string& asked) {
  std::vector<std::string> up = live::worlds_up(directory);
  std::string list;
  for (const std::string& each : up) list += (list.empty() ? "" : ", ") + each;
  if (up.empty()) return tl::unexpected(std::string("no world is up; start one with 'weft up LAB'"));
  if (asked.empty() && up.size() == 1) return up.front();
  if (asked.empty()) return tl::unexpected(fmt::format("several worlds are up ({}); choose one with --world", list));
  if (std::find(up.begin(), up.end(), asked) == up.end())
    return tl::unexpected(fmt::format("no world named {} is up; there are: {}", asked, list));
  return asked;
}

// Beside the program: lib/weft in the build tree, ../lib/weft where it is installed.
std::string library_directory() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& each : {self / "lib/weft", self.parent_path() / "lib/weft"}) {
    if (fs::exists(each / "libweft.so", error)) return each.string();
  }
  return "";
}

void prepend(const char* variable, const std::string& value) {
  const char* old = std::getenv(variable);
  setenv(variable, old == nullptr || *old == 0 ? value.c_str() : (value + ":" + old).c_str(), 1);
}

int exec(const ExecArguments& arguments) {
  if (arguments.command.empty()) return complain("no program; for instance: weft exec NODE -- ibv_devinfo");
  auto directory = live::runtime_directory();
  if (!directory) return complain(directory.error());
  auto world = choose_world(*directory, arguments.world);
  if (!world) return complain(world.error());
  std::error_code error;
  if (!fs::exists(sysfs_path(*directory, *world, arguments.node), error)) {
    std::vector<std::string> nodes;
    for (const auto& entry : fs::directory_iterator(sysfs_path(*directory, *world, ""), error))
      nodes.push_back(entry.path().filename().string());
    std::sort(nodes.begin(), nodes.end());
    return complain(
        fmt::format("the world {} has no node {}; there are: {}", *world, arguments.node, fmt::join(nodes, " ")));
  }
  std::string libraries = library_directory();
  if (libraries.empty()) return complain("lib/weft/libweft.so is not beside this program; build or install all of it");
  auto status = live::ask_status(live::socket_path(*directory, *world));
  if (!status) return complain(fmt::format("{}: {}", *world, status.error()));
  setenv(verbs::kClockVariable, status->clock == verbs::Clock::kWall ? "wall" : "virtual", 1);
  setenv(verbs::kSocketVariable, live::socket_path(*directory, *world).c_str(), 1);
  setenv(verbs::kNodeVariable, arguments.node.c_str(), 1);
  setenv(verbs::kSysfsVariable, sysfs_path(*directory, *world, arguments.node).c_str(), 1);
  prepend("LD_LIBRARY_PATH", libraries);
  prepend("LD_PRELOAD", libraries + "/libweft.so");
  std::vector<char*> words;
  for (const std::string& word : arguments.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  return complain(fmt::format("cannot run {}: {}", arguments.command.front(), std::strerror(errno)));
}

int ps() {
  auto directory = live::runtime_directory();
  if (!directory) return complain(directory.error());
  fmt::print("{:<20} {:<12} {:>8} {:>8} {:>6}  {}\n", "WORLD", "NODE", "PID", "THREADS", "QPS", "PROGRAM");
  for (const std::string& world : live::worlds_up(*directory)) {
    auto reply = live::ask_world(live::socket_path(*directory, world), verbs::Op::kStatus);
    verbs::WorldStatus head{};
    if (!reply || reply->body.size() < sizeof(head)) continue;
    std::memcpy(&head, reply->body.data(), sizeof(head));
    if (head.clock == verbs::Clock::kWall)
      fmt::print("{:<20} {:<12} at {:.9f} s, wall clock, behind by {:.1f} ms at most\n", world, "",
                 static_cast<double>(head.now_ps) / 1e12, static_cast<double>(head.behind_ps) / 1e9);
    else
      fmt::print("{:<20} {:<12} at {:.9f} s{}\n", world, "", static_cast<double>(head.now_ps) / 1e12,
                 head.deterministic != 0 ? "" : ", not deterministic: a program acted on its own clock");
    const std::byte* at = reply->body.data() + sizeof(head);
    if (reply->body.size() <
        sizeof(head) + head.processes * sizeof(verbs::ProcessStatus) + head.outside * sizeof(verbs::OutsideStatus))
      continue;
    for (std::uint32_t i = 0; i < head.processes; ++i, at += sizeof(verbs::ProcessStatus)) {
      verbs::ProcessStatus row;
      std::memcpy(&row, at, sizeof(row));
      fmt::print("{:<20} {:<12} {:>8} {:>8} {:>6}  {}\n", world, row.node, row.pid, row.threads, row.qps, row.name);
    }
    for (std::uint32_t i = 0; i < head.outside; ++i, at += sizeof(verbs::OutsideStatus)) {
      verbs::OutsideStatus port;
      std::memcpy(&port, at, sizeof(port));
      fmt::print(
          "{:<20} {:<12} outside: in {}, out {}, answered {}; dropped: bad ICRC {}, malformed {}, strangers {}, "
          "other {}, overrun {}\n",
          world, port.node, port.in, port.out, port.answered, port.bad_icrc, port.malformed, port.strangers, port.other,
          port.overrun);
    }
  }
  return kExitWell;
}

int down(const std::string& asked) {
  auto directory = live::runtime_directory();
  if (!directory) return complain(directory.error());
  auto world = choose_world(*directory, asked);
  if (!world) return complain(world.error());
  if (auto reply = live::ask_world(live::socket_path(*directory, *world), verbs::Op::kDown); !reply)
    return complain(fmt::format("{}: {}", *world, reply.error()));
  fmt::print("world {} is down\n", *world);
  return kExitWell;
}

}  // namespace

std::vector<std::string> with_end_of_options(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words.front() != "exec") return words;
  std::size_t i = 1;
  while (i < words.size() && words[i].starts_with("-") && words[i] != "--") i += words[i] == "--world" ? 2 : 1;
  // After the node.
  if (i + 1 < words.size() && words[i + 1] != "--")
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, "--");
  return words;
}

void add_live(CLI::App& app, int& status) {
  auto up_arguments = std::make_shared<UpArguments>();
  CLI::App* verb = app.add_subcommand("up", "Bring up a lab as a world that programs run in");
  verb->add_option("LAB", up_arguments->lab, "Lab file (docs/lab-file.md)")->required();
  verb->add_option("--name", up_arguments->name, "Name of the world (default: the lab's)");
  verb->add_option("--seed", up_arguments->seed, "Seed of every random choice (default: the lab's)");
  verb->add_option("--set", up_arguments->set, "Change the lab: path=value; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_option("--clock", up_arguments->clock, "virtual: programs see the simulated time; wall: the real one")
      ->check(CLI::IsMember({"virtual", "wall"}));
  verb->add_flag("--foreground", up_arguments->foreground, "Stay in the foreground until interrupted");
  verb->callback([up_arguments, &status] { status = up(*up_arguments); });

  auto exec_arguments = std::make_shared<ExecArguments>();
  verb = app.add_subcommand("exec", "Run a program on a node of a world: weft exec NODE -- ib_write_bw");
  verb->add_option("--world", exec_arguments->world, "Which world (default: the only one that is up)");
  verb->add_option("NODE", exec_arguments->node, "Host of the lab")->required();
  verb->add_option("COMMAND", exec_arguments->command, "Program and its arguments: everything after NODE");
  verb->callback([exec_arguments, &status] { status = exec(*exec_arguments); });

  verb = app.add_subcommand("ps", "Worlds that are up and the programs in them");
  verb->callback([&status] { status = ps(); });

  auto name = std::make_shared<std::string>();
  verb = app.add_subcommand("down", "End a world");
  verb->add_option("WORLD", *name, "Name of the world (default: the only one that is up)");
  verb->callback([name, &status] { status = down(*name); });
}

}  // namespace weft::cli
