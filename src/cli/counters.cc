// weft counters [DIR] NODE[:PORT]: what a device's own tools would print, after a run or of a world that is up.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "cli/worlds.h"
#include "live/os/place.h"
#include "results/counters/counters_text.h"

namespace weft::cli {

namespace {

struct CountersArguments {
  std::string directory;  // or, when it stands alone, the node
  std::string where;
  std::string world;
  std::string as;
  bool json = false;
  std::vector<std::string> watch;  // given: its interval, or nothing
  bool watched = false;
  std::uint64_t count = 0;
};

using Text = tl::expected<std::string, lab::CountersProblem>;

Text of_world(const CountersArguments& arguments, std::optional<lab::CounterStyle> style) {
  if (std::error_code error; std::filesystem::is_directory(arguments.directory, error))
    return tl::unexpected(lab::CountersProblem{fmt::format("which node of {}?", arguments.directory),
                                               fmt::format("weft counters {} NODE[:PORT]", arguments.directory)});
  auto directory = live::runtime_directory();
  if (!directory) return tl::unexpected(lab::CountersProblem{directory.error(), ""});
  auto world = choose_world(*directory, arguments.world);
  if (!world)
    return tl::unexpected(
        lab::CountersProblem{world.error(), "of a run that is over: weft counters DIR NODE, with the run's directory"});
  auto results = live::ask_world_text(live::socket_path(*directory, *world), verbs::Op::kResults);
  if (!results)
    return tl::unexpected(lab::CountersProblem{fmt::format("{}: {}", *world, results.error()), "try again"});
  return lab::counters_of(*results, "the world " + *world, arguments.directory, style, arguments.json);
}

int run(const CountersArguments& arguments) {
  use_json(arguments.json);
  if (arguments.watched) {
    if (!arguments.where.empty() || !arguments.as.empty())
      return wrong_input("--watch is of a world that is up, and of all counters", "leave the directory and --as out");
    return watch_world(arguments.world, arguments.json,
                       {"counters", arguments.directory, arguments.watch.empty() ? "1 s" : arguments.watch.front(),
                        std::to_string(arguments.count)});
  }
  std::optional<lab::CounterStyle> style;
  if (!arguments.as.empty()) style = lab::counter_style(arguments.as);
  if (!arguments.where.empty() && !arguments.world.empty())
    return complain("a directory and --world: name one of them");
  auto text = arguments.where.empty() ? of_world(arguments, style)
                                      : lab::counters_text(arguments.directory, arguments.where, style, arguments.json);
  if (!text) return wrong_input(text.error().message, text.error().remedy);
  put(*text);
  return kExitWell;
}

}  // namespace

void add_counters(CLI::App& app, int& status) {
  auto arguments = std::make_shared<CountersArguments>();
  CLI::App* verb =
      app.add_subcommand("counters", "Show the counters of a run or a world that is up as its devices' tools do");
  verb->add_option("DIR", arguments->directory, "Directory of a run (default: the world that is up)")->required();
  verb->add_option("NODE", arguments->where, "A host or switch, or one of its ports: NODE[:PORT]");
  verb->add_option("--world", arguments->world, "Which world (default: the only one that is up)");
  verb->add_option("--as", arguments->as,
                   "ethtool or rdma for a host, sonic or wjh for a switch, tc or ethtool for a forwarder")
      ->check(CLI::IsMember({"ethtool", "rdma", "sonic", "wjh", "tc"}));
  verb->add_flag("--json", arguments->json, "Print this part of results.json");
  CLI::Option* watch =
      verb->add_option("--watch", arguments->watch, "Show what changes in each interval of the world's time (1 s)")
          ->expected(0, 1);
  verb->add_option("--count", arguments->count, "With --watch: end after this many intervals")
      ->check(whole_number(1, UINT32_MAX))
      ->needs(watch);
  verb->callback([arguments, watch, &status] {
    arguments->watched = watch->count() > 0;
    if (!arguments->watch.empty() && arguments->watch.front().empty()) arguments->watch.clear();
    status = run(*arguments);
  });
}

}  // namespace weft::cli
