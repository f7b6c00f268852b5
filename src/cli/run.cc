// weft run LAB: runs the lab's workloads and leaves a directory behind.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>

#include "base/files.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "live/program_session.h"
#include "results/report.h"
#include "results/results_json.h"
#include "results/results_store.h"
#include "world/runner.h"

namespace weft::cli {

namespace {

struct RunArguments {
  std::string lab;
  std::string out;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> set;
  std::string capture = "none";
  CaptureArguments limits;
  std::uint32_t threads = 1;
  bool json = false;
};

// Old files would not belong to this report.
void remove_old(const std::string& out) {
  std::error_code ignored;
  for (const char* name : {"capture.pcapng", "mirror.pcapng"}) {
    for (const std::string& old : observe::capture_files(out + "/" + name)) std::filesystem::remove(old, ignored);
  }
}

// Writes one file, or removes an old one of that name: each file in the directory is of this run.
bool write_one(const std::string& path,
               const std::function<tl::expected<void, std::string>(const std::string&)>& write) {
  auto written = write(path);
  if (written) return true;
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  failed(written.error(), "make room, or choose another place with --out DIR");
  return false;
}

int run(const RunArguments& arguments) {
  use_json(arguments.json);
  auto file = load_lab(arguments.lab, arguments.set, arguments.seed);
  if (!file || !is_simulated(file->lab)) return kExitWrongInput;
  const lab::Lab& lab = file->lab;
  auto ports = choose_ports(lab, arguments.capture);
  auto capture = read_capture_options(arguments.limits);
  if (!ports || !capture) return kExitWrongInput;
  std::string out = arguments.out.empty() ? "runs/" + lab.name : arguments.out;
  auto lock = DirectoryLock::take(out);
  if (!lock) return kExitWrongInput;
  remove_old(out);

  catch_interrupts();
  lab::SessionOptions options;
  options.capture_ports = *ports;
  options.capture_path = out + "/capture.pcapng";
  options.mirror_path = out + "/mirror.pcapng";
  options.capture = *capture;
  options.domains = options.threads = arguments.threads;
  options.cancel = &interrupted();
  options.programs = live::open_programs;
  auto result = lab::run_lab(lab, options, show_progress());
  clear_progress_line();
  if (!result) return failed(result.error());

  // Files name each other relative to their own directory, so that two runs compare byte by byte.
  const std::string body = lab::report_body(lab, *result);
  bool written = write_one(out + "/report.md", [&](const std::string& path) {
    return write_file(path, body + lab::report_files(lab, *result, {"."}));
  });
  written &= write_one(out + "/results.json",
                       [&](const std::string& path) { return lab::write_results_json(path, lab, *result); });
  written &= write_one(out + "/results.sqlite",
                       [&](const std::string& path) { return lab::write_results_store(path, lab, *result); });
  written &= write_one(out + "/lab.yaml", [&](const std::string& path) { return write_file(path, file->text); });
  if (arguments.json) {
    lab::results_json(lab, *result, put);
  } else {
    put(body + lab::report_files(lab, *result, {out}));
  }
  if (!result->capture_error.empty()) {
    written = false;
    failed(result->capture_error, "the report is complete; capture fewer ports, or use --capture-size and --snaplen");
  }
  if (!written) return kExitFailed;
  if (result->interrupted) return kExitInterrupted;
  const std::vector<std::string> failures = result->failures();
  for (const std::string& failure : failures) failed(failure);
  return result->expectations_met() && failures.empty() ? kExitWell : kExitFailed;
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* verb = app.add_subcommand("run", "Run a lab: its workloads, on its hosts and cables");
  verb->add_option("LAB", arguments->lab, "Lab file (docs/lab-file.md)")->required();
  verb->add_option("--out", arguments->out, "Directory for report, results and capture (default runs/NAME)");
  verb->add_option("--seed", arguments->seed, "Seed of every random choice (default: the lab's)")
      ->check(whole_number(0, UINT64_MAX));
  verb->add_option("--set", arguments->set,
                   "Change the lab: path=value, e.g. links[0].cable.length='10 m'; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_option("--capture", arguments->capture, "Ports to capture: PORT[,PORT], all or none (default none)");
  add_capture_options(*verb, arguments->limits);
  verb->add_option("--threads", arguments->threads, "Threads that share the nodes; the results are the same")
      ->check(whole_number(1, 256));
  verb->add_flag("--json", arguments->json, "Print results.json instead of the report");
  verb->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace weft::cli
