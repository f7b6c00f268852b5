// weft compare A B: two runs side by side, with the differences in the lab and in the results.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/common.h"
#include "cli/verbs.h"
#include "study/comparison.h"

namespace weft::cli {

namespace {

struct CompareArguments {
  std::string a, b;
  bool ports = false;
  bool json = false;
};

int run(const CompareArguments& arguments) {
  use_json(arguments.json);
  auto comparison = study::compare_runs(arguments.a, arguments.b);
  if (!comparison) return wrong_input(comparison.error().message, comparison.error().remedy);
  put(arguments.json ? study::comparison_json(*comparison) : study::comparison_text(*comparison, arguments.ports));
  return kExitWell;
}

}  // namespace

void add_compare(CLI::App& app, int& status) {
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* verb = app.add_subcommand("compare", "Compare two runs: differences in the lab and in the results");
  verb->add_option("A", arguments->a, "Directory of a run")->required();
  verb->add_option("B", arguments->b, "Directory of another run")->required();
  verb->add_flag("--ports", arguments->ports, "Also the counters of each port");
  verb->add_flag("--json", arguments->json, "Print JSON, with the counters of each port");
  verb->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace weft::cli
