// weft run LAB: plays the lab's workloads and leaves a directory behind.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/common.h"
#include "cli/verbs.h"
#include "lab/report.h"
#include "lab/results_json.h"
#include "lab/results_store.h"
#include "lab/runner.h"
#include "live/program_session.h"

namespace weft::cli {

namespace {

struct Arguments {
  std::string lab;
  std::string out;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> set;
  std::string capture = "none";
  std::uint32_t threads = 1;
  bool json = false;
};

int run(const Arguments& arguments) {
  auto file = load_lab(arguments.lab, arguments.set, arguments.seed);
  if (!file || !is_simulated(file->lab)) return kExitWrongInput;
  const lab::Lab& lab = file->lab;
  auto ports = choose_ports(lab, arguments.capture);
  if (!ports) return kExitWrongInput;
  std::string out = arguments.out.empty() ? "runs/" + lab.name : arguments.out;
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error) {
    fmt::print(stderr, "weft: cannot make {}: {}\n  choose another place with --out DIR\n", out, error.message());
    return kExitWrongInput;
  }
  std::string capture_path = out + "/capture.pcapng";
  // A capture of an earlier run would not belong to this report.
  std::filesystem::remove(capture_path, error);

  catch_interrupts();
  lab::RunOptions options;
  options.capture_ports = *ports;
  options.capture_path = capture_path;
  options.mirror_path = out + "/mirror.pcapng";
  std::filesystem::remove(options.mirror_path, error);
  options.domains = options.threads = arguments.threads;
  options.cancel = &interrupted();
  options.progress = progress_line();
  options.programs = live::open_programs;
  auto result = lab::run_lab(lab, options);
  clear_progress_line();
  if (!result) {
    fmt::print(stderr, "weft: {}\n", result.error());
    return kExitWrongInput;
  }

  // Files name each other relative to their own directory, so that two runs compare byte by byte.
  std::string json = lab::results_json(lab, *result);
  lab::ReportPaths inside{".", ports->empty() ? "" : "capture.pcapng"};
  bool written = write_file(out + "/report.md", lab::report(lab, *result, inside)) &&
                 write_file(out + "/results.json", json) && write_file(out + "/lab.yaml", file->text);
  if (auto stored = lab::write_results_store(out + "/results.sqlite", lab, *result); !stored) {
    fmt::print(stderr, "weft: {}\n", stored.error());
    written = false;
  }
  lab::ReportPaths shown{out, ports->empty() ? "" : capture_path};
  fmt::print("{}", arguments.json ? json : lab::report(lab, *result, shown));
  if (!written) return kExitWrongInput;
  if (result->interrupted) return kExitInterrupted;
  return result->expectations_met() && result->programs_well() ? kExitWell : kExitFailed;
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("run", "Run a lab: its workloads, on its hosts and cables");
  verb->add_option("LAB", arguments->lab, "Lab file (docs/lab-file.md)")->required();
  verb->add_option("--out", arguments->out, "Directory for report, results and capture (default runs/NAME)");
  verb->add_option("--seed", arguments->seed, "Seed of every random choice (default: the lab's)");
  verb->add_option("--set", arguments->set,
                   "Change the lab: path=value, e.g. links[0].cable.length='10 m'; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_option("--capture", arguments->capture, "Ports to capture: PORT[,PORT], all or none (default none)");
  verb->add_option("--threads", arguments->threads, "Threads that share the nodes; the results are the same")
      ->check(CLI::Range(1, 256));
  verb->add_flag("--json", arguments->json, "Print results.json instead of the report");
  verb->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace weft::cli
