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
  std::string table;
  std::string flow;
};

int analyze_captures(const AnalyzeArguments& arguments) {
  use_json(arguments.json);
  analyze::AnalyzeOptions options;
  options.decode.check_icrc = !arguments.no_icrc;
  options.messages = arguments.table == "messages";
  const auto analysis = analyze::analyze_files(arguments.files, options);
  if (!analysis) return wrong_input(analysis.error(), "weft analyze reads pcap and pcapng files");
  if (!arguments.table.empty() && !arguments.json) {
    for (const analyze::Table& table : analysis->tables)
      if (table.name == arguments.table) put(analyze::table_text(table, arguments.flow));
    return analysis->findings.healthy() ? kExitWell : kExitFailed;
  }
  put(arguments.json ? analyze::analysis_json(*analysis) : analyze::analysis_text(*analysis));
  return analysis->findings.healthy() ? kExitWell : kExitFailed;
}

}  // namespace

void add_analyze(CLI::App& app, int& status) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  CLI::App* verb = app.add_subcommand("analyze", "Say what happened in captures, what is wrong and what to change");
  verb->add_option("FILE", arguments->files, "pcap or pcapng files; several are merged by time")->required();
  verb->add_flag("--no-icrc", arguments->no_icrc, "Do not check the ICRC of each frame");
  verb->add_option("--table", arguments->table,
                   "Print a table in place of the report: qps, messages, retransmissions, cnp, pauses, rate "
                   "(bins of time)")
      ->check(CLI::IsMember({"qps", "messages", "retransmissions", "cnp", "pauses", "rate"}));
  verb->add_option("--flow", arguments->flow, "Only rows of the table whose flow contains this, e.g. '10.0.0.1 >'");
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->footer("Exit status: 0 healthy, 1 findings, 2 input that cannot be read.");
  verb->callback([arguments, &status] { status = analyze_captures(*arguments); });
}

}  // namespace weft::cli
