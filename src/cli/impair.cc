// weft impair: see docs/commands.md.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/verbs.h"

namespace weft::cli {

void add_impair(CLI::App& app, int& status) {
  auto arguments = std::make_shared<CommandArguments>();
  CLI::App* verb = app.add_subcommand("impair", "Impair what leaves a port of a world, in the words of tc-netem");
  add_command_options(*verb, *arguments);
  add_words(*verb, *arguments, "NODE:PORT, then delay 10us 2us loss 1% ..., show or off");
  verb->callback([arguments, &status] { status = send_command("impair", *arguments); });
}

}  // namespace weft::cli
