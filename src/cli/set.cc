// weft set TARGET KEY VALUE, weft set --list TARGET: see docs/commands.md.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/verbs.h"

namespace weft::cli {

void add_set(CLI::App& app, int& status) {
  auto arguments = std::make_shared<CommandArguments>();
  auto list = std::make_shared<bool>(false);
  CLI::App* verb = app.add_subcommand("set", "Change thresholds and parameters of a world that is up");
  add_command_options(*verb, *arguments);
  verb->add_flag("--list", *list, "Show what can be set on TARGET, and how it is set");
  add_words(*verb, *arguments, "TARGET KEY VALUE: a node or NODE:PORT, a key of its qos, its value");
  verb->callback([arguments, list, &status] {
    if (*list) arguments->words.insert(arguments->words.begin(), "--list");
    status = send_command("set", *arguments);
  });
}

}  // namespace weft::cli
