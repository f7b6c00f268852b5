// weft report DIR: the report of a run, as text or as one HTML file with the page in it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/figures.h"
#include "base/files.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "serve/html_report.h"
#include "study/run_directory.h"

namespace weft::cli {

namespace {

constexpr std::size_t kMostReportText_B = std::size_t{256} << 20;
constexpr std::size_t kMostReport_B = 24'000'000;  // of data: small enough for mail

struct ReportArguments {
  std::string directory, out;
  bool html = false, json = false;
};

int print_report(const ReportArguments& arguments, const char* name) {
  auto text = read_file(arguments.directory + "/" + name, kMostReportText_B);
  if (!text)
    return wrong_input(fmt::format("cannot read {}/{}: {}", arguments.directory, name, text.error()),
                       "give the directory of a run, as weft run LAB --out DIR leaves it");
  put(*text);
  return kExitWell;
}

int run(const ReportArguments& arguments) {
  use_json(arguments.json);
  if (const auto problem = study::why_no_run(arguments.directory))
    return wrong_input(problem->message, problem->remedy);
  if (!arguments.html) {
    if (!arguments.out.empty()) return wrong_input("--out without --html", "report.md is in the directory of the run");
    return print_report(arguments, arguments.json ? "results.json" : "report.md");
  }
  const auto report = serve::html_report(arguments.directory, kMostReport_B);
  if (!report)
    return wrong_input(fmt::format("{}: {}", arguments.directory, report.error()),
                       "give the directory of a run, as weft run LAB --out DIR leaves it");
  const std::string path = arguments.out.empty() ? arguments.directory + "/report.html" : arguments.out;
  if (auto written = write_file(path, report->html); !written)
    return failed(written.error(), "free disk space, or choose another place with --out FILE");
  if (arguments.json) {
    std::vector<std::string> names;
    for (const std::string& each : report->left_out) names.push_back(json_string(each));
    put(fmt::format("{{\"file\": {}, \"size_B\": {}, \"left_out\": [{}]}}\n", json_string(path), report->html.size(),
                    fmt::join(names, ", ")));
    return kExitWell;
  }
  put(fmt::format("{}: {}\n", path, size_text(report->html.size())));
  if (!report->left_out.empty()) put(fmt::format("left out: {}\n", fmt::join(report->left_out, ", ")));
  return kExitWell;
}

}  // namespace

void add_report(CLI::App& app, int& status) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* verb =
      app.add_subcommand("report", "Print a run's report, or write it as one HTML file with the page in it");
  verb->add_option("DIR", arguments->directory, "Directory of a run")->required();
  verb->add_flag("--html", arguments->html, "Write one file that shows the run in any browser, without a server");
  verb->add_option("--out", arguments->out, "The file for --html (default: DIR/report.html)");
  verb->add_flag("--json", arguments->json, "Print results.json; with --html the file, its size and what was left out");
  verb->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace weft::cli
