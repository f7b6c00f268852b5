// weft ps [WORLD]: worlds that are up and the programs in them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <memory>
#include <span>

#include "cli/common.h"
#include "cli/verbs.h"
#include "cli/worlds.h"
#include "live/os/place.h"

namespace weft::cli {

namespace {

struct PsArguments {
  std::string world;
  bool json = false;
};
struct WorldRows {
  std::string name;
  verbs::WorldStatus head{};
  std::vector<verbs::ProcessStatus> programs;
  std::vector<verbs::OutsideStatus> outside;
  std::string commands;  // what it was told, as JSON
};

std::string clock_text(const verbs::WorldStatus& head) {
  double now_s = static_cast<double>(head.now_ps) / 1e12;
  if (head.clock == verbs::Clock::kWall)
    return fmt::format("at {:.9f} s, wall clock, behind by {:.1f} ms at most", now_s,
                       static_cast<double>(head.behind_ps) / 1e9);
  const char* why = head.deterministic == 1   ? ""
                    : head.deterministic == 2 ? ", not deterministic: threads of a program came in by real time"
                                              : ", not deterministic: a program used its own clock";
  return fmt::format("at {:.9f} s{}", now_s, why);
}

// Copies `count` rows and moves on behind them; false when there are not so many.
template <typename Row>
bool take_rows(std::span<const std::byte>& from, std::size_t count, std::vector<Row>& rows) {
  if (count > from.size() / sizeof(Row)) return false;
  rows.resize(count);
  if (count > 0) std::memcpy(rows.data(), from.data(), count * sizeof(Row));
  from = from.subspan(count * sizeof(Row));
  return true;
}

std::string table(const std::vector<WorldRows>& worlds) {
  std::string out =
      fmt::format("{:<20} {:<12} {:>8} {:>8} {:>6}  {}\n", "WORLD", "NODE", "PID", "THREADS", "QPS", "PROGRAM");
  for (const WorldRows& world : worlds) {
    out += fmt::format("{:<20} {:<12} {}\n", world.name, "", clock_text(world.head));
    for (const verbs::ProcessStatus& row : world.programs)
      out += fmt::format("{:<20} {:<12} {:>8} {:>8} {:>6}  {}\n", world.name, row.node, row.pid, row.threads, row.qps,
                         row.name);
    for (const verbs::OutsideStatus& port : world.outside)
      out += fmt::format(
          "{:<20} {:<12} outside: in {}, out {}, answered {}; dropped: bad ICRC {}, malformed {}, not for this lab {}, "
          "other {}, overrun {}\n",
          world.name, port.node, port.in, port.out, port.answered, port.bad_icrc, port.malformed, port.not_for_lab,
          port.other, port.overrun);
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
    std::vector<std::string> outside;
    for (const verbs::OutsideStatus& port : world.outside)
      outside.push_back(fmt::format(
          "\n    {{\"node\": {}, \"in\": {}, \"out\": {}, \"answered\": {}, \"bad_icrc\": {}, \"malformed\": {}, "
          "\"not_for_this_lab\": {}, \"other\": {}, \"overrun\": {}}}",
          json_string(port.node), port.in, port.out, port.answered, port.bad_icrc, port.malformed, port.not_for_lab,
          port.other, port.overrun));
    bool wall = world.head.clock == verbs::Clock::kWall;
    objects.push_back(fmt::format(
        "\n  {{\"world\": {}, \"clock\": \"{}\", \"now_ps\": {}, \"behind_ps\": {}, \"deterministic\": {}, "
        "\"programs\": [{}], \"outside\": [{}], \"commands\": {}}}",
        json_string(world.name), wall ? "wall" : "virtual", world.head.now_ps, world.head.behind_ps,
        !wall && world.head.deterministic == 1, fmt::join(programs, ","), fmt::join(outside, ","), world.commands));
  }
  return fmt::format("[{}]\n", fmt::join(objects, ","));
}

int ps(const PsArguments& arguments) {
  use_json(arguments.json);
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
    WorldRows world{name, {}, {}, {}, "[]"};
    if (!reply || reply->body.size() < sizeof(world.head)) continue;
    std::memcpy(&world.head, reply->body.data(), sizeof(world.head));
    std::span<const std::byte> rows = std::span(reply->body).subspan(sizeof(world.head));
    if (!take_rows(rows, world.head.processes, world.programs) || !take_rows(rows, world.head.outside, world.outside))
      continue;
    for (verbs::ProcessStatus& row : world.programs)
      row.node[sizeof(row.node) - 1] = row.name[sizeof(row.name) - 1] = 0;
    for (verbs::OutsideStatus& port : world.outside) port.node[sizeof(port.node) - 1] = 0;
    if (arguments.json) {
      auto log = live::ask_command(live::socket_path(*directory, name), verbs::kNow_ps, true, {"log"});
      if (log && log->head.status == 0) world.commands = log->text.substr(0, log->text.find('\n'));
    }
    worlds.push_back(std::move(world));
  }
  put(arguments.json ? json(worlds) : table(worlds));
  return kExitWell;
}

}  // namespace

void add_ps(CLI::App& app, int& status) {
  auto arguments = std::make_shared<PsArguments>();
  CLI::App* verb = app.add_subcommand("ps", "Worlds that are up and the programs in them");
  verb->add_option("WORLD", arguments->world, "Only this one");
  verb->add_flag("--json", arguments->json, "Print them as JSON");
  verb->callback([arguments, &status] { status = ps(*arguments); });
}

}  // namespace weft::cli
