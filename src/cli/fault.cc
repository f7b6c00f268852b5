// weft fault: see docs/commands.md.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/verbs.h"

namespace weft::cli {

void add_fault(CLI::App& app, int& status) {
  auto arguments = std::make_shared<CommandArguments>();
  CLI::App* verb = app.add_subcommand("fault", "Add, list and remove faults of a world that is up");
  add_command_options(*verb, *arguments);
  add_words(*verb, *arguments, "add KEY=VALUE ... in the words of the lab file, list, or remove NUMBER, NAME or all");
  verb->callback([arguments, &status] { status = send_command("fault", *arguments); });
}

}  // namespace weft::cli
