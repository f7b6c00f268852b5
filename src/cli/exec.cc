// weft exec NODE [--] PROGRAM: runs a program on a node of a world that is up.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/verbs.h"
#include "cli/worlds.h"
#include "live/os/environment.h"
#include "live/os/executable.h"
#include "live/os/place.h"

namespace weft::cli {

namespace {

namespace fs = std::filesystem;

struct ExecArguments {
  std::string world, node, network;
  std::vector<std::string> command;
};

// Tools that gain rights where distributions install them; a shell on the node finds copies without.
constexpr const char* kPrivilegedTools[] = {"ping", "ping4", "ping6", "arping", "fping", "traceroute", "mtr-packet"};

// Tools that come with NVIDIA's drivers, and tools that would look at the machine's own network.
constexpr const char* kNodeTools[] = {"mlnx_qos",     "show_gids", "ibdev2netdev", "cma_roce_mode",
                                      "cma_roce_tos", "mlxconfig", "mst",          "nvidia-smi",
                                      "iperf3",       "iperf",     "tcpdump",      "tshark"};

// A name may be there from an exec before.
void link_node_tools(const std::string& libraries, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  for (const char* name : kNodeTools) fs::create_symlink(libraries + "/node-tool", folder + "/" + name, error);
}

void put_copies_first(const std::string& libraries, const std::string& copies) {
  link_node_tools(libraries, copies);
  for (const char* name : kPrivilegedTools) {
    const std::string path = live::find_program(name);
    if (!path.empty() && live::gains_rights(path)) live::copy_without_rights(path, copies);
  }
  const char* path = std::getenv("PATH");
  setenv("PATH", (copies + (path != nullptr ? ":" + std::string(path) : "")).c_str(), 1);
}

// The file to execute for the command. What a program cannot be shown is said once, here.
std::string program_to_run(const std::string& name, const std::string& libraries, const std::string& copies) {
  put_copies_first(libraries, copies);
  const std::string path = live::find_program(name);
  if (path.empty()) return name;
  if (live::is_static_program(path)) {
    complain(
        fmt::format("{} is linked statically: it sees the clock, the network and the files of this machine", path));
    return path;
  }
  if (!live::gains_rights(path)) return path;
  if (auto copy = live::copy_without_rights(path, copies)) return *copy;
  complain(
      fmt::format("{} is setuid or has capabilities and cannot be copied: it sees the clock, the network and the "
                  "files of this machine",
                  path));
  return path;
}

int exec(const ExecArguments& arguments) {
  if (arguments.command.empty()) return complain("no program; for instance: weft exec NODE -- ibv_devinfo");
  if (!arguments.network.empty() && arguments.network != "fabric" && arguments.network != "management")
    return complain(
        fmt::format("--net {} is no network of a world; fabric: TCP of programs goes through the simulated "
                    "fabric; management: beside it",
                    arguments.network));
  auto directory = live::runtime_directory();
  if (!directory) return complain(directory.error());
  auto world = choose_world(*directory, arguments.world);
  if (!world) return complain(world.error());
  std::error_code error;
  if (!fs::exists(live::sysfs_path(*directory, *world, arguments.node), error)) {
    std::vector<std::string> nodes;
    for (const auto& entry : fs::directory_iterator(live::sysfs_path(*directory, *world, ""), error))
      nodes.push_back(entry.path().filename().string());
    std::sort(nodes.begin(), nodes.end());
    return complain(
        fmt::format("the world {} has no node {}; there are: {}", *world, arguments.node, fmt::join(nodes, " ")));
  }
  auto libraries = live::library_directory();
  if (!libraries) return complain(libraries.error());
  auto status = live::ask_status(live::socket_path(*directory, *world));
  if (!status) return complain(fmt::format("{}: {}", *world, status.error()));
  verbs::LookUp node{};
  arguments.node.copy(node.name, sizeof(node.name) - 1);
  if (auto shown = live::ask_world(live::socket_path(*directory, *world), verbs::Op::kShowNode,
                                   std::as_bytes(std::span(&node, 1)));
      !shown)
    return complain(fmt::format("{}: {}", *world, shown.error()));
  for (const auto& [name, value] :
       live::program_variables(*libraries, live::socket_path(*directory, *world),
                               live::sysfs_path(*directory, *world, arguments.node), arguments.node, status->clock))
    setenv(name.c_str(), value.c_str(), 1);
  if (!arguments.network.empty()) setenv(verbs::kNetworkVariable, arguments.network.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : arguments.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const std::string program =
      program_to_run(arguments.command.front(), *libraries, *directory + "/" + *world + "/programs");
  execvp(program.c_str(), words.data());
  return complain(fmt::format("cannot run {}: {}", arguments.command.front(), std::strerror(errno)));
}

}  // namespace

std::vector<std::string> with_end_of_options(std::vector<std::string> words) {
  if (words.empty() || words.front() != "exec") return words;
  std::size_t i = 1;
  while (i < words.size() && words[i].starts_with("-") && words[i] != "--")
    i += words[i] == "--world" || words[i] == "--net" ? 2 : 1;
  // After the node.
  if (i + 1 < words.size() && words[i + 1] != "--")
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, "--");
  return words;
}

void add_exec(CLI::App& app, int& status) {
  auto arguments = std::make_shared<ExecArguments>();
  CLI::App* verb = app.add_subcommand("exec", "Run a program on a node of a world: weft exec NODE -- ib_write_bw");
  verb->add_option("--world", arguments->world, "Which world (default: the only one that is up)");
  verb->add_option("--net", arguments->network,
                   "Network of the program's TCP: fabric or management (default: the lab's `network`)");
  verb->add_option("NODE", arguments->node, "Host of the lab")->required();
  verb->add_option("COMMAND", arguments->command, "Program and its arguments: everything after NODE");
  verb->callback([arguments, &status] { status = exec(*arguments); });
}

}  // namespace weft::cli
