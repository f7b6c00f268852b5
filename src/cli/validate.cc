// weft validate LAB: every problem of a lab file at once, or what it describes. weft schema: what a lab file can say,
// for editors (JSON schema) and for docs/lab-file.md (its tables).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/files.h"
#include "base/plural.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "labfile/expand.h"
#include "labfile/lab_fields.h"
#include "text/schema.h"

namespace weft::cli {

namespace {

struct ValidateArguments {
  std::string lab;
  std::vector<std::string> set;
  bool json = false;
  bool expand = false;
};

std::string summary_json(const ValidateArguments& arguments, const lab::Lab& lab) {
  std::vector<std::string> warnings;
  for (const lab::Problem& warning : lab.warnings) warnings.push_back(json_problem(arguments.lab, warning));
  return fmt::format(
      "{{\"lab\": {}, \"valid\": true, \"hosts\": {}, \"switches\": {}, \"links\": {}, \"workloads\": {}, "
      "\"faults\": {}, \"expectations\": {}, \"warnings\": [{}]}}\n",
      json_string(lab.name), lab.hosts.size(), lab.switches.size(), lab.links.size(), lab.workloads.size(),
      lab.faults.size(), lab.expectations.size(), fmt::join(warnings, ", "));
}

int validate(const ValidateArguments& arguments) {
  use_json(arguments.json);
  auto file = load_lab(arguments.lab, arguments.set, std::nullopt);
  if (!file) return kExitWrongInput;
  const lab::Lab& lab = file->lab;
  if (arguments.expand) {
    put(lab::expand_lab(lab, file->text));
  } else if (arguments.json) {
    forget_warnings();  // they are in the summary
    put(summary_json(arguments, lab));
  } else {
    const std::string switches = lab.switches.empty() ? "" : counted(lab.switches.size(), "switch") + ", ";
    put(fmt::format("{}: {}, {}{}, {}, {}, {}; {}\n", arguments.lab, counted(lab.hosts.size(), "host"), switches,
                    counted(lab.links.size(), "link"), counted(lab.workloads.size(), "workload"),
                    counted(lab.faults.size(), "fault"), counted(lab.expectations.size(), "expectation"),
                    lab.warnings.empty() ? "no problems" : "no errors, " + counted(lab.warnings.size(), "warning")));
  }
  return kExitWell;
}

int print_docs(const std::string& path) {
  const auto page = read_file(path, 1 << 20);
  if (!page) {
    fmt::print(stderr, "{}: cannot be read\n", path);
    return kExitWrongInput;
  }
  const auto made = lab::with_key_tables(*page, lab::kLabKeys);
  if (!made) {
    fmt::print(stderr, "{}: {}\n", path, made.error());
    return kExitWrongInput;
  }
  put(*made);
  return kExitWell;
}

}  // namespace

void add_validate(CLI::App& app, int& status) {
  auto arguments = std::make_shared<ValidateArguments>();
  CLI::App* verb = app.add_subcommand("validate", "Check a lab file and report every problem at once");
  verb->add_option("LAB", arguments->lab, "Lab file (docs/lab-file.md)")->required();
  verb->add_option("--set", arguments->set, "Change the lab before checking it: path=value")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_flag("--expand", arguments->expand, "Print the lab with its fabric template written out");
  verb->add_flag("--json", arguments->json, "Print a summary as JSON");
  verb->callback([arguments, &status] { status = validate(*arguments); });
}

void add_schema(CLI::App& app, int& status) {
  auto docs = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("schema", "Print the JSON schema (draft-07) of lab files");
  verb->add_option("--docs", *docs, "Print this Markdown page with its tables of keys made anew");
  verb->callback([docs, &status] {
    if (!docs->empty()) {
      status = print_docs(*docs);
      return;
    }
    put(lab::schema_of(lab::kLabKeys, "Weft lab, version 1"));
    status = kExitWell;
  });
}

}  // namespace weft::cli
