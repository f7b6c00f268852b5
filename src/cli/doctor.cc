// weft doctor: is this host, or this fabric, healthy?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/output.h"
#include "cli/verbs.h"
#include "gear/bundle/files.h"
#include "gear/bundle/inspect.h"
#include "gear/doctor/pairs.h"

namespace weft::cli {

namespace {

struct DoctorArguments {
  std::vector<std::string> paths;
  std::string pairs;
  double line_Gbps = 0;
  bool json = false;
};

int report_files(const std::vector<gear::FileProblem>& problems) {
  for (const gear::FileProblem& each : problems) {
    if (each.problem.line > 0) {
      report_problem(each.file, each.problem);
    } else {
      wrong_input(each.file + ": " + each.problem.message, each.problem.remedy);
    }
  }
  return kExitWrongInput;
}

int show_pairs(const DoctorArguments& arguments) {
  const gear::PairMatrix matrix = gear::read_pairs(arguments.pairs, arguments.line_Gbps);
  if (!matrix.problems.empty()) return report_files(matrix.problems);
  put(arguments.json ? gear::pairs_json(matrix) : gear::pairs_text(matrix));
  return matrix.healthy() ? kExitWell : kExitFailed;
}

int doctor(const DoctorArguments& arguments) {
  use_json(arguments.json);
  if (!arguments.pairs.empty()) {
    if (arguments.paths.empty()) return show_pairs(arguments);
    return wrong_input("--pairs and bundles at once", "give one of them");
  }
  if (arguments.line_Gbps > 0)
    return wrong_input("--line-rate without --pairs", "it is the rate that results of all pairs are held against");
  gear::SiteFiles files;
  if (arguments.paths.empty()) {
    auto bundle = gear::inspect_this_host();
    if (!bundle) return wrong_input("cannot inspect this host: " + bundle.error(), "weft inspect --script | sh -x");
    gear::add_to_site(*bundle, "this host", files);
  } else {
    files = gear::read_site(arguments.paths);
  }
  if (!files.problems.empty()) return report_files(files.problems);
  constexpr std::size_t kMostLines = 10;
  if (!arguments.json) {
    for (std::size_t i = 0; i < std::min(files.ignored.size(), kMostLines); ++i)
      fmt::print(stderr, "weft: {}: not a bundle, left out\n", files.ignored[i]);
    if (files.ignored.size() > kMostLines)
      fmt::print(stderr, "weft: and {} more files\n", files.ignored.size() - kMostLines);
  }
  const gear::Diagnosis diagnosis = gear::diagnose(files.site);
  put(arguments.json ? gear::diagnosis_json(diagnosis) : gear::diagnosis_text(diagnosis));
  return diagnosis.findings.empty() ? kExitWell : kExitFailed;
}

}  // namespace

void add_doctor(CLI::App& app, int& status) {
  auto arguments = std::make_shared<DoctorArguments>();
  CLI::App* verb =
      app.add_subcommand("doctor", "Find what is wrong with this host, or with hosts and switches by their bundles");
  verb->add_option(
      "BUNDLE", arguments->paths,
      "Bundles of hosts and switches, config_db.json files, unpacked show techsupport, directories of them "
      "(default: this host)");
  verb->add_option("--pairs", arguments->pairs,
                   "Directory of perftest's JSON results of all pairs, CLIENT--SERVER.json");
  verb->add_option("--line-rate", arguments->line_Gbps,
                   "With --pairs: the links' rate in Gb/s; bandwidths 5 % below what it allows are odd (default: below "
                   "the median)")
      ->check(CLI::Range(0.0, 10'000.0));
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->footer("Exit status: 0 healthy, 1 findings, 2 input that cannot be read.");
  verb->callback([arguments, &status] { status = doctor(*arguments); });
}

}  // namespace weft::cli
