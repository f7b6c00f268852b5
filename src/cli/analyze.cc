// weft analyze: what happened in a capture, and what to change.
#include <CLI/CLI.hpp>
#include <memory>

#include "analyze/analyzer.h"
#include "cli/output.h"
#include "cli/verbs.h"

namespace weft::cli {
namespace {

struct AnalyzeArguments {
  std::vector<std::string> files;
  bool no_icrc = false;
  bool json = false;
};

int analyze_captures(const AnalyzeArguments& arguments) {
  use_json(arguments.json);
  analyze::AnalyzeOptions options;
  options.decode.check_icrc = !arguments.no_icrc;
  const auto analysis = analyze::analyze_files(arguments.files, options);
  if (!analysis) return wrong_input(analysis.error(), "weft analyze reads pcap and pcapng files");
  put(arguments.json ? analyze::analysis_json(*analysis) : analyze::analysis_text(*analysis));
  return analysis->findings.healthy() ? kExitWell : kExitFailed;
}

}  // namespace

void add_analyze(CLI::App& app, int& status) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  CLI::App* verb = app.add_subcommand("analyze", "Say what happened in captures, what is wrong and what to change");
  verb->add_option("FILE", arguments->files, "pcap or pcapng files; several are merged by time")->required();
  verb->add_flag("--no-icrc", arguments->no_icrc, "Do not check the ICRC of each frame");
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->footer("Exit status: 0 healthy, 1 findings, 2 input that cannot be read.");
  verb->callback([arguments, &status] { status = analyze_captures(*arguments); });
}

}  // namespace weft::cli
