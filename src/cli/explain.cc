// weft explain DIR: why a run took as long as it did.
#include "explain/explain.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/common.h"
#include "cli/verbs.h"

namespace weft::cli {

namespace {

struct ExplainArguments {
  explain::Request request;
  bool json = false;
};

int run(const ExplainArguments& arguments) {
  use_json(arguments.json);
  const auto explanation = explain::explain_run(arguments.request);
  if (!explanation) return wrong_input(explanation.error().message, explanation.error().remedy);
  put(arguments.json ? explain::explanation_json(*explanation)
                     : explain::explanation_text(*explanation, !arguments.request.flow.empty()));
  return kExitWell;
}

}  // namespace

void add_explain(CLI::App& app, int& status) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* verb =
      app.add_subcommand("explain", "Say why a run took as long as it did: links, bottlenecks of flows, incidents");
  verb->add_option("DIR", arguments->request.directory, "Directory of a run")->required();
  verb->add_option("--flow", arguments->request.flow,
                   "Only this flow: WORKLOAD/NUMBER, NUMBER, a name, FROM>TO, or a port, node or workload");
  verb->add_option("--between", arguments->request.between,
                   "Only between two times, e.g. 1.2ms,1.4ms; the run must have samples");
  verb->add_flag("--json", arguments->json, "Print it as JSON (docs/explain.md)");
  verb->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace weft::cli
