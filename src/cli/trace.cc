// weft trace: what programs, queue pairs, connections and links of a world do, as it happens. See docs/commands.md.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/verbs.h"

namespace weft::cli {

namespace {

struct TraceArguments {
  std::string world, node, event, qp, process, time;
  bool json = false;
};

}  // namespace

void add_trace(CLI::App& app, int& status) {
  auto arguments = std::make_shared<TraceArguments>();
  CLI::App* verb =
      app.add_subcommand("trace", "Show what programs, queue pairs, connections and links do, as it happens");
  verb->add_option("--world", arguments->world, "Which world (default: the only one that is up)");
  verb->add_option("--node", arguments->node, "Only of these nodes: NODE[,NODE]");
  verb->add_option("--event", arguments->event, "Only these events, e.g. qp_modify,cm; qp stands for qp_...");
  verb->add_option("--qp", arguments->qp, "Only of this queue pair, e.g. 0x11");
  verb->add_option("--process", arguments->process, "Only of this program: its number or its name");
  verb->add_option("--for", arguments->time, "End after this time of the world, e.g. 10ms (default: Ctrl-C)");
  verb->add_flag("--json", arguments->json, "One JSON object per line");
  verb->callback([arguments, &status] {
    std::vector<std::string> words{"trace"};
    const auto add = [&](const char* option, const std::string& value) {
      if (!value.empty()) words.insert(words.end(), {option, value});
    };
    add("--node", arguments->node);
    add("--event", arguments->event);
    add("--qp", arguments->qp);
    add("--process", arguments->process);
    add("--for", arguments->time);
    status = watch_world(arguments->world, arguments->json, words);
  });
}

}  // namespace weft::cli
