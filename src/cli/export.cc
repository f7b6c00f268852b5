// weft export DIR --as FORMAT: a run's results for pandas, Grafana and Perfetto.
#include "export/export.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/plural.h"
#include "cli/output.h"
#include "cli/verbs.h"

namespace weft::cli {

namespace {

struct ExportArguments {
  std::string directory, format;
  exports::ExportOptions options;
  bool json = false;
};

int run(ExportArguments& arguments) {
  use_json(arguments.json);
  arguments.options.format = *exports::export_format(arguments.format);
  const auto files = exports::export_run(arguments.directory, arguments.options);
  if (!files)
    return files.error().is_input ? wrong_input(files.error().message, files.error().remedy)
                                  : failed(files.error().message, files.error().remedy);
  std::vector<std::string> list;
  for (const exports::ExportedFile& file : *files) {
    if (arguments.json) {
      list.push_back(fmt::format("  {{\"file\": {}, \"what\": {}, \"count\": {}}}", json_string(file.path),
                                 json_string(file.what), file.count));
    } else {
      const bool is_table = arguments.format == "csv" || arguments.format == "parquet";
      put(fmt::format("{}: {} {}\n", file.path, file.count,
                      is_table               ? "rows"
                      : file.what == "trace" ? "events"
                                             : "samples"));
    }
  }
  if (arguments.json)
    put(fmt::format("{{\"format\": {}, \"files\": [\n{}]}}\n", json_string(arguments.format), fmt::join(list, ",\n")));
  return kExitWell;
}

}  // namespace

void add_export(CLI::App& app, int& status) {
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* verb = app.add_subcommand("export", "Write a run's results for pandas, Grafana or Perfetto");
  verb->add_option("DIR", arguments->directory, "Directory of a run")->required();
  verb->add_option("--as", arguments->format, "csv, parquet, prometheus or chrome-trace (docs/export.md)")
      ->required()
      ->check(CLI::IsMember({"csv", "parquet", "prometheus", "chrome-trace"}));
  verb->add_option("--out", arguments->options.out,
                   "A directory for csv and parquet, otherwise a file (default: in the run's directory)");
  verb->add_option("--series", arguments->options.series,
                   "Only these time series: queue_B, 'leaf0:*', leaf0:swp1.3.queue_B; none: none (default: all)")
      ->allow_extra_args(false)
      ->take_all()
      ->delimiter(',');
  verb->add_flag("--json", arguments->json, "Print the files as JSON");
  verb->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace weft::cli
