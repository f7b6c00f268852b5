// weft run LAB: runs the lab's workloads and leaves a directory behind.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>

#include "base/files.h"
#include "cli/common.h"
#include "cli/json_progress.h"
#include "cli/verbs.h"
#include "live/program_session.h"
#include "results/explanation.h"
#include "results/kinds/flow_verdicts.h"
#include "results/kinds/job_timeline.h"
#include "results/kinds/perftest_json.h"
#include "results/port_accounts.h"
#include "results/report.h"
#include "results/results_json.h"
#include "results/results_store.h"
#include "results/seed_study.h"
#include "world/runner.h"

namespace weft::cli {

namespace {

struct RunArguments {
  std::string lab;
  std::string out;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> set;
  std::string capture = "none", progress = "auto";
  CaptureArguments limits;
  std::uint32_t threads = 1;
  std::uint32_t seeds = 1;
  bool json = false;
  bool why = false;
  lab::Trust trust = lab::Trust::kAll;
};

// Old files would not belong to this report.
void remove_old(const std::string& out) {
  std::error_code ignored;
  for (const char* name : {"capture.pcapng", "mirror.pcapng"}) {
    for (const std::string& old : observe::capture_files(out + "/" + name)) std::filesystem::remove(old, ignored);
  }
}

// Runs of other seeds that an earlier study left here. What is not of a run stays.
void remove_old_seeds(const std::string& out) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(out, ignored)) {
    if (!entry.is_directory() || !entry.path().filename().string().starts_with("seed-")) continue;
    remove_old(entry.path().string());
    for (const char* name : {"report.md", "results.json", "results.sqlite", "lab.yaml"})
      std::filesystem::remove(entry.path() / name, ignored);
    std::filesystem::remove(entry.path(), ignored);  // when it is empty
  }
}

// Writes one file, or removes an old one of that name: each file in the directory is of this run.
bool write_one(const std::string& path,
               const std::function<tl::expected<void, std::string>(const std::string&)>& write) {
  auto written = write(path);
  if (written) return true;
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  failed(written.error(), "free disk space, or choose another place with --out DIR");
  return false;
}

// A lab that may be run, and how.
struct Chosen {
  LabFile file;
  lab::SessionOptions options;
};

std::optional<Chosen> choose(const RunArguments& arguments, std::optional<std::uint64_t> seed, bool warn = true) {
  auto file = load_lab(arguments.lab, arguments.set, seed, warn, arguments.trust);
  if (!file || !is_simulated(file->lab)) return std::nullopt;
  auto ports = choose_ports(file->lab, arguments.capture);
  auto capture = read_capture_options(arguments.limits);
  if (!ports || !capture) return std::nullopt;
  limit_large_capture(file->lab, *ports, true, *capture);
  Chosen chosen{std::move(*file), {}};
  chosen.options.capture_ports = *ports;
  chosen.options.capture = *capture;
  chosen.options.domains = chosen.options.threads = arguments.threads;
  chosen.options.why = arguments.why;
  chosen.options.cancel = &interrupted();
  chosen.options.programs = live::open_programs;
  return chosen;
}

struct Ran {
  lab::RunResult result;
  std::string body;      // of the report
  std::string summary;   // its end
  bool written = false;  // all of it
};

// Nothing: it could not be run, and said so.
std::optional<Ran> run_into(const std::string& out, Chosen& chosen, const std::string& progress) {
  remove_old(out);
  chosen.options.capture_path = out + "/capture.pcapng";
  chosen.options.mirror_path = out + "/mirror.pcapng";
  const lab::Lab& lab = chosen.file.lab;
  auto result = lab::run_lab(lab, chosen.options, chosen_progress(progress));
  clear_progress_line();
  if (!result) {
    failed(result.error());
    return std::nullopt;
  }
  Ran ran{std::move(*result), {}, {}, true};
  // Files name each other relative to their own directory, so that two runs compare byte by byte.
  ran.body = lab::report_body(lab, ran.result);
  ran.summary = lab::report_summary(lab, ran.result);
  // results.json marks a complete run: it is removed first and written last, so that a killed run leaves no mix of old
  // and new files.
  std::error_code ignored;
  std::filesystem::remove(out + "/results.json", ignored);
  ran.written &= write_one(out + "/report.md", [&](const std::string& path) {
    return write_file(path, ran.body + lab::report_files(lab, ran.result, {"."}) + ran.summary);
  });
  ran.written &= write_one(out + "/results.sqlite",
                           [&](const std::string& path) { return lab::write_results_store(path, lab, ran.result); });
  for (const lab::WorkloadOutcome& outcome : ran.result.workloads) {
    const std::string timeline = lab::timeline_name(ran.result, outcome);
    if (!timeline.empty())
      ran.written &=
          write_one(out + "/" + timeline, [&](const std::string& path) { return lab::write_timeline(path, outcome); });
  }
  ran.written &=
      write_one(out + "/lab.yaml", [&](const std::string& path) { return write_file(path, chosen.file.text); });
  ran.written &= write_one(out + "/results.json",
                           [&](const std::string& path) { return lab::write_results_json(path, lab, ran.result); });
  return ran;
}

std::string directory_of(const RunArguments& arguments, const lab::Lab& lab) {
  return arguments.out.empty() ? "runs/" + lab.name : arguments.out;
}

std::string why_text(const lab::RunResult& result) {
  std::string out;
  bool has_others = false;
  for (const lab::WorkloadOutcome& outcome : result.workloads) {
    const auto* options = std::get_if<workload::PerftestOptions>(&outcome.config->options);
    const auto* measured = outcome.as<workload::PerftestResult>();
    has_others = has_others || options == nullptr;
    if (const auto* flows = outcome.as<workload::FlowsOutcome>()) {
      if (const std::string text = lab::flow_verdicts_text(*flows); !text.empty())
        out += "\n" + outcome.config->name + "\n" + text;
    }
    if (options == nullptr || measured == nullptr) continue;
    const std::string account = lab::perftest_verdict(*options, *measured, true);
    if (!account.empty()) out += "\n" + outcome.config->name + "\n" + account;
  }
  if (has_others) out += lab::port_accounts_text(result);
  return out.empty() ? "\nno perftest of this lab has an account of its time (atomics have none, nor has traffic "
                       "inside one NIC)\n"
                     : out;
}

int run_once(const RunArguments& arguments) {
  auto chosen = choose(arguments, arguments.seed);
  if (!chosen) return kExitWrongInput;
  const lab::Lab& lab = chosen->file.lab;
  const std::string out = directory_of(arguments, lab);
  auto lock = DirectoryLock::take(out);
  if (!lock) return kExitWrongInput;
  catch_interrupts();
  auto ran = run_into(out, *chosen, arguments.progress);
  if (!ran) return kExitFailed;
  if (arguments.json) {
    lab::results_json(lab, ran->result, put);
  } else {
    put(ran->body + lab::report_files(lab, ran->result, {out}) + ran->summary);
    if (arguments.why) put(why_text(ran->result));
  }
  if (!ran->result.capture_error.empty()) {
    ran->written = false;
    failed(ran->result.capture_error,
           "the report is complete; capture fewer ports, or use --capture-size and --snaplen");
  }
  if (!ran->written) return kExitFailed;
  if (ran->result.interrupted) return kExitInterrupted;
  const std::vector<std::string> failures = ran->result.failures();
  for (const std::string& failure : failures) failed(failure);
  return ran->result.expectations_met() && failures.empty() ? kExitWell : kExitFailed;
}

// Each run has a directory of its own, seed-N; what they say together is above them.
int run_seeds(const RunArguments& arguments) {
  auto first = choose(arguments, arguments.seed);
  if (!first) return kExitWrongInput;
  const std::string name = first->file.lab.name, out = directory_of(arguments, first->file.lab);
  const std::uint64_t first_seed = first->file.lab.seed;
  if (first_seed > UINT64_MAX - arguments.seeds) {
    failed("there are not so many seeds from here on", "write a smaller --seed");
    return kExitWrongInput;
  }
  auto lock = DirectoryLock::take(out);
  if (!lock) return kExitWrongInput;
  catch_interrupts();
  remove_old_seeds(out);
  lab::SeedStudy study(arguments.seeds);
  bool written = true, stopped = false, well = true;
  for (std::uint64_t seed = first_seed; seed < first_seed + arguments.seeds && !stopped; ++seed) {
    auto chosen = choose(arguments, seed, false);
    if (!chosen) return kExitWrongInput;
    const std::string place = fmt::format("{}/seed-{}", out, seed);
    auto place_lock = DirectoryLock::take(place);
    if (!place_lock) return kExitWrongInput;
    auto ran = run_into(place, *chosen, arguments.progress);
    if (!ran) return kExitFailed;
    stopped = ran->result.interrupted;
    if (stopped) break;  // half a run is no figure
    written = written && ran->written && ran->result.capture_error.empty();
    for (const std::string& failure : ran->result.failures()) {
      well = false;
      failed(fmt::format("seed {}: {}", seed, failure));
    }
    study.add(seed, chosen->file.lab, ran->result);
  }
  const std::string text = lab::report(study, name), json = lab::results_json(study, name);
  written &= write_one(out + "/report.md", [&](const std::string& path) { return write_file(path, text); });
  written &= write_one(out + "/results.json", [&](const std::string& path) { return write_file(path, json); });
  put(arguments.json ? json : text + fmt::format("  {0}/report.md, {0}/results.json; each run in {0}/seed-N\n", out));
  if (!written) return kExitFailed;
  if (stopped) return kExitInterrupted;
  return well && study.expectations_met() ? kExitWell : kExitFailed;
}

int run(const RunArguments& arguments) {
  use_json(arguments.json);
  if (arguments.seeds > 1 && arguments.why)
    return wrong_input("--why with --seeds: each run has an account of its own", "use --seed for one of them");
  return arguments.seeds > 1 ? run_seeds(arguments) : run_once(arguments);
}

}  // namespace

void add_run(CLI::App& app, int& status) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* verb = app.add_subcommand("run", "Run a lab: its workloads, on its hosts and cables");
  verb->add_option("LAB", arguments->lab, "Lab file (docs/lab-file.md)")->required();
  verb->add_option("--out", arguments->out, "Directory for report, results and capture (default runs/NAME)");
  verb->add_option("--seed", arguments->seed, "Seed of every random choice (default: the lab's)")
      ->check(whole_number(0, UINT64_MAX));
  verb->add_option("--seeds", arguments->seeds,
                   "Run it with so many seeds, from --seed on: mean and spread of every figure")
      ->check(whole_number(1, 10'000));
  verb->add_option("--set", arguments->set,
                   "Change the lab: path=value, e.g. links[0].cable.length='10 m'; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_option("--capture", arguments->capture, "Ports to capture: PORT[,PORT], all or none (default none)");
  add_capture_options(*verb, arguments->limits);
  verb->add_option("--threads", arguments->threads, "Threads that share the nodes; the results are the same")
      ->check(whole_number(1, 256));
  verb->add_flag("--json", arguments->json, "Print results.json instead of the report");
  add_progress_option(*verb, arguments->progress);
  add_untrusted_option(*verb, arguments->trust);
  verb->add_flag("--why", arguments->why, "Print where bandwidth and time went in each perftest and flow of the lab");
  verb->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace weft::cli
