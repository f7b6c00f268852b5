// weft ps [WORLD]: worlds that are up and the programs in them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <memory>

#include "cli/common.h"
#include "cli/verbs.h"
#include "cli/worlds.h"
#include "live/place.h"

namespace weft::cli {

namespace {

struct Arguments {
  std::string world;
  bool json = false;
};
struct WorldRows {
  std::string name;
  verbs::WorldStatus head{};
  std::vector<verbs::ProcessStatus> programs;
};

std::string table(const std::vector<WorldRows>& worlds) {
  std::string out =
      fmt::format("{:<20} {:<12} {:>8} {:>8} {:>6}  {}\n", "WORLD", "NODE", "PID", "THREADS", "QPS", "PROGRAM");
  for (const WorldRows& world : worlds) {
    out += fmt::format("{:<20} {:<12} at {:.9f} s{}\n", world.name, "", static_cast<double>(world.head.now_ps) / 1e12,
                       world.head.deterministic != 0 ? "" : ", not deterministic: a program acted on its own clock");
    for (const verbs::ProcessStatus& row : world.programs)
      out += fmt::format("{:<20} {:<12} {:>8} {:>8} {:>6}  {}\n", world.name, row.node, row.pid, row.threads, row.qps,
                         row.name);
  }
  return out;
}

std::string json(const std::vector<WorldRows>& worlds) {
  std::vector<std::string> objects;
  for (const WorldRows& world : worlds) {
    std::vector<std::string> programs;
    for (const verbs::ProcessStatus& row : world.programs)
      programs.push_back(
          fmt::format("\n    {{\"node\": {}, \"pid\": {}, \"threads\": {}, \"qps\": {}, \"program\": {}}}",
                      json_string(row.node), row.pid, row.threads, row.qps, json_string(row.name)));
    objects.push_back(fmt::format("\n  {{\"world\": {}, \"now_ps\": {}, \"deterministic\": {}, \"programs\": [{}]}}",
                                  json_string(world.name), world.head.now_ps, world.head.deterministic != 0,
                                  fmt::join(programs, ",")));
  }
  return fmt::format("[{}]\n", fmt::join(objects, ","));
}

int ps(const Arguments& arguments) {
  auto directory = live::runtime_directory();
  if (!directory) return complain(directory.error());
  std::vector<std::string> names = live::worlds_up(*directory);
  if (!arguments.world.empty()) {
    auto world = choose_world(*directory, arguments.world);
    if (!world) return complain(world.error());
    names = {*world};
  }
  std::vector<WorldRows> worlds;
  for (const std::string& name : names) {
    auto reply = live::ask_world(live::socket_path(*directory, name), verbs::Op::kStatus);
    WorldRows world{name, {}, {}};
    if (!reply || reply->body.size() < sizeof(world.head)) continue;
    std::memcpy(&world.head, reply->body.data(), sizeof(world.head));
    for (std::size_t at = sizeof(world.head); at + sizeof(verbs::ProcessStatus) <= reply->body.size();
         at += sizeof(verbs::ProcessStatus)) {
      verbs::ProcessStatus& row = world.programs.emplace_back();
      std::memcpy(&row, reply->body.data() + at, sizeof(row));
      row.node[sizeof(row.node) - 1] = row.name[sizeof(row.name) - 1] = 0;
    }
    worlds.push_back(std::move(world));
  }
  fmt::print("{}", arguments.json ? json(worlds) : table(worlds));
  return kExitWell;
}

}  // namespace

void add_ps(CLI::App& app, int& status) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("ps", "Worlds that are up and the programs in them");
  verb->add_option("WORLD", arguments->world, "Only this one");
  verb->add_flag("--json", arguments->json, "Print them as JSON");
  verb->callback([arguments, &status] { status = ps(*arguments); });
}

}  // namespace weft::cli
