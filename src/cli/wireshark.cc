// weft wireshark install | uninstall: plugin, profile, colour rules and I/O graphs for Wireshark and tshark.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/output.h"
#include "cli/verbs.h"
#include "wireshark/install.h"

namespace weft::cli {

namespace {

struct WiresharkArguments {
  std::string directory;
  wireshark::InstallOptions options;
  bool json = false;
};

using wireshark::Outcome, wireshark::Step;
using Steps = tl::expected<std::vector<Step>, std::string>;

std::string steps_json(const wireshark::Folders& folders, const std::vector<Step>& steps, bool dry_run) {
  std::vector<std::string> files;
  for (const Step& step : steps)
    files.push_back(fmt::format("  {{\"file\": {}, \"outcome\": {}{}}}", json_string(step.file),
                                json_string(wireshark::outcome_word(step.outcome)),
                                step.backup.empty() ? "" : fmt::format(", \"kept_as\": {}", json_string(step.backup))));
  return fmt::format("{{\"configuration\": {}, \"plugins\": {}, \"dry_run\": {}, \"files\": [\n{}]}}\n",
                     json_string(folders.configuration), json_string(folders.plugins), dry_run ? "true" : "false",
                     fmt::join(files, ",\n"));
}

void print_steps(const std::vector<Step>& steps, bool dry_run) {
  for (const Step& step : steps) {
    put(fmt::format("{}{} {}\n", dry_run ? "would be " : "", wireshark::outcome_word(step.outcome), step.file));
    if (step.outcome == Outcome::kReplaced) fmt::print(stderr, "{} was not ours: kept as {}\n", step.file, step.backup);
    if (step.outcome == Outcome::kKept)
      fmt::print(stderr, "{} was changed since it was installed: kept as it is\n", step.file);
  }
}

int report(const WiresharkArguments& arguments, const wireshark::Folders& folders, const Steps& steps) {
  if (!steps && !arguments.directory.empty())
    return wrong_input(steps.error(), "--dir DIR: a directory that you can write; it is made if it does not exist");
  if (!steps)
    return failed(steps.error(), fmt::format("make {} writable, or choose another place: weft wireshark install --dir "
                                             "DIR, then WIRESHARK_CONFIG_DIR=DIR wireshark",
                                             folders.configuration));
  if (arguments.json) {
    put(steps_json(folders, *steps, arguments.options.dry_run));
  } else {
    print_steps(*steps, arguments.options.dry_run);
  }
  int status = kExitWell;
  for (const Step& step : *steps) {
    if (step.outcome == Outcome::kForeign)
      status = failed(fmt::format("{} is not a file of weft's: left as it is", step.file),
                      "weft wireshark install --force replaces it and keeps it as FILE.before-weft");
  }
  return status;
}

int install_files(const WiresharkArguments& arguments, bool install) {
  use_json(arguments.json);
  const auto folders = wireshark::find_folders(arguments.directory);
  if (!folders) return wrong_input(folders.error(), "--dir DIR names a configuration directory");
  const Steps steps =
      install ? wireshark::install(*folders, arguments.options) : wireshark::uninstall(*folders, arguments.options);
  if (steps && steps->empty() && !arguments.json)
    put(fmt::format("nothing of weft's is installed in {}\n", folders->configuration));
  const int status = report(arguments, *folders, steps);
  if (install && status == kExitWell && !arguments.json && !arguments.options.dry_run) {
    const std::string directory =
        folders->stands_alone ? fmt::format("WIRESHARK_CONFIG_DIR={} ", folders->configuration) : "";
    put(fmt::format("start it with: {}wireshark -C Weft FILE\n", directory));
  }
  return status;
}

void add_common(CLI::App& verb, WiresharkArguments& arguments) {
  verb.add_option("--dir", arguments.directory,
                  "A configuration directory, to be named in WIRESHARK_CONFIG_DIR (default: this user's own)");
  verb.add_flag("--dry-run", arguments.options.dry_run, "Only say what would be done");
  verb.add_flag("--json", arguments.json, "Print folders and files as JSON");
}

}  // namespace

void add_wireshark(CLI::App& app, int& status) {
  CLI::App* verb = app.add_subcommand("wireshark", "Plugin, profile and colour rules for Wireshark and tshark");
  verb->require_subcommand(1);
  auto arguments = std::make_shared<WiresharkArguments>();
  CLI::App* install = verb->add_subcommand("install", "Put them into the personal configuration of Wireshark");
  add_common(*install, *arguments);
  install->add_flag("--force", arguments->options.force,
                    "Replace files that are not weft's; they are kept as FILE.before-weft");
  install->callback([arguments, &status] { status = install_files(*arguments, true); });
  CLI::App* uninstall = verb->add_subcommand("uninstall", "Remove what install put there and is as it was");
  add_common(*uninstall, *arguments);
  uninstall->callback([arguments, &status] { status = install_files(*arguments, false); });
}

}  // namespace weft::cli
