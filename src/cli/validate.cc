// weft validate LAB: every problem of a lab file at once, or what it describes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/common.h"
#include "cli/verbs.h"
#include "lab/expand.h"

namespace weft::cli {

namespace {

struct Arguments {
  std::string lab;
  std::vector<std::string> set;
  bool json = false;
  bool expand = false;
};

int validate(const Arguments& arguments) {
  auto file = load_lab(arguments.lab, arguments.set, std::nullopt);
  if (!file) return kExitWrongInput;
  const lab::Lab& lab = file->lab;
  if (arguments.expand) {
    fmt::print("{}", lab::expand_lab(lab, file->text));
  } else if (arguments.json) {
    fmt::print(
        "{{\"lab\": \"{}\", \"valid\": true, \"hosts\": {}, \"switches\": {}, \"links\": {}, \"workloads\": {}, "
        "\"faults\": {}, \"warnings\": {}}}\n",
        lab.name, lab.hosts.size(), lab.switches.size(), lab.links.size(), lab.workloads.size(), lab.faults.size(),
        lab.warnings.size());
  } else {
    const std::string switches = lab.switches.empty() ? "" : fmt::format("{} switches, ", lab.switches.size());
    fmt::print("{}: {} hosts, {}{} links, {} workloads, {} faults, {} expectations; no problems\n", arguments.lab,
               lab.hosts.size(), switches, lab.links.size(), lab.workloads.size(), lab.faults.size(),
               lab.expectations.size());
  }
  return kExitWell;
}

}  // namespace

void add_validate(CLI::App& app, int& status) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("validate", "Check a lab file and report every problem at once");
  verb->add_option("LAB", arguments->lab, "Lab file (docs/lab-file.md)")->required();
  verb->add_option("--set", arguments->set, "Change the lab before it is checked: path=value")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_flag("--expand", arguments->expand, "Print the lab with its fabric template written out");
  verb->add_flag("--json", arguments->json, "Print a summary as JSON");
  verb->callback([arguments, &status] { status = validate(*arguments); });
}

}  // namespace weft::cli
