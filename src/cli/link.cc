// weft link: see docs/commands.md.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/verbs.h"

namespace weft::cli {

void add_link(CLI::App& app, int& status) {
  auto arguments = std::make_shared<CommandArguments>();
  CLI::App* verb = app.add_subcommand("link", "Take a link of a world down, bring it up, or let it flap");
  add_command_options(*verb, *arguments);
  add_words(*verb, *arguments, "NODE:PORT, then up, down, flap [DOWN [UP]] or show");
  verb->callback([arguments, &status] { status = send_command("link", *arguments); });
}

}  // namespace weft::cli
