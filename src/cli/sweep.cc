// weft sweep LAB --vary path=a,b,c: runs the lab over a grid of values.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <thread>

#include "base/files.h"
#include "cli/common.h"
#include "cli/json_progress.h"
#include "cli/verbs.h"
#include "labfile/reader.h"
#include "model/metrics.h"
#include "study/sweep_metrics.h"
#include "study/sweep_report.h"
#include "study/sweep_resume.h"
#include "study/sweep_run.h"

namespace weft::cli {

namespace {

struct SweepArguments {
  std::string lab, out, progress = "auto";
  std::vector<std::string> vary, set, metrics;
  std::optional<std::uint64_t> seed;
  std::uint32_t jobs = 0;
  bool json = false;
  lab::Trust trust = lab::Trust::kAll;
};

std::string own_program() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? "weft" : path.string();
}

std::size_t done_of(const study::SweepPlan& plan) {
  return static_cast<std::size_t>(std::count_if(plan.cells.begin(), plan.cells.end(), [](const study::SweepCell& cell) {
    return cell.state == study::CellState::kDone || cell.state == study::CellState::kFailed;
  }));
}

void show_bar(std::size_t done, std::size_t all) {
  constexpr std::size_t kWidth = 40;
  const std::size_t filled = all == 0 ? kWidth : kWidth * done / all;
  show_progress_text(
      fmt::format("[{}{}] {} of {} runs", std::string(filled, '#'), std::string(kWidth - filled, '.'), done, all));
}

// Prints a message and returns false if no run of this lab can have one of the figures.
bool may_have_metrics(const lab::Lab& lab, const std::vector<std::string>& metrics) {
  std::vector<std::string> subjects;
  for (const lab::LinkConfig& link : lab.links) {
    for (const lab::PortRef& port : {link.a, link.b}) subjects.push_back(lab::port_name(lab, port));
  }
  for (const lab::WorkloadConfig& workload : lab.workloads) subjects.push_back(workload.name);
  const auto problem = study::check_metric_subjects(metrics, subjects);
  if (problem) wrong_input(problem->message, problem->remedy);
  return !problem;
}

// Counters of hosts and ports: a cell without one has counted 0.
bool is_counter(const std::string& metric) {
  const std::size_t dot = metric.rfind('.');
  return (metric.starts_with("hosts.") || metric.find(':') < dot) && dot != metric.npos &&
         lab::is_known_counter(std::string_view(metric).substr(dot + 1));
}

// Figures that every run has: not those of single ports, which may be missing in some cells, nor those that a workload
// measures only if it does not fail.
std::vector<std::string> certain_metrics(const SweepArguments& arguments, const study::SweepPlan& plan) {
  std::vector<std::string> certain;
  for (const std::string& metric : arguments.metrics) {
    std::vector<std::string> set = plan.set_of(plan.cells.front());
    set.push_back("expect." + metric + ".min=0");
    const bool is_measured = lab::read_lab(plan.lab_text, arguments.lab, set, plan.seed, arguments.trust).has_value();
    if (!is_measured && !is_counter(metric) && metric.find(':') == metric.npos) certain.push_back(metric);
  }
  return certain;
}

// Checks the names when the first run has ended: an unknown name is wrong input, and the other runs are skipped.
class MetricWatch {
 public:
  MetricWatch(std::vector<std::string> metrics, const study::SweepPlan& plan)
      : metrics_(std::move(metrics)), plan_(plan) {}
  // True: a name is wrong.
  bool look() {
    if (metrics_.empty() || looked_) return problem_.has_value();
    const auto done = std::find_if(plan_.cells.begin(), plan_.cells.end(),
                                   [](const study::SweepCell& cell) { return cell.state == study::CellState::kDone; });
    if (done == plan_.cells.end()) return false;
    looked_ = true;
    const auto run = study::read_figures(plan_.directory_of(*done));
    std::vector<std::string> known;
    if (run) {
      for (const study::Figure& figure : run->figures) {
        if (figure.group != study::FigureGroup::kPort) known.push_back(figure.name);
      }
    }
    problem_ = study::check_metrics(metrics_, known);
    return problem_.has_value();
  }
  const std::optional<study::StudyProblem>& problem() const { return problem_; }

 private:
  std::vector<std::string> metrics_;
  const study::SweepPlan& plan_;
  bool looked_ = false;
  std::optional<study::StudyProblem> problem_;
};

// The first of runs/NAME-sweep, runs/NAME-sweep-2, … that no sweep of other values has.
void choose_directory(study::SweepPlan& plan) {
  const std::string name = "runs/" + plan.lab_name + "-sweep";
  plan.out = name;
  for (int number = 2; study::other_sweep(plan); ++number) plan.out = fmt::format("{}-{}", name, number);
}

// Every cell's lab is read before the first runs: a value that does not fit is wrong input, not a failed run.
std::optional<study::SweepPlan> plan_of(const SweepArguments& arguments) {
  study::SweepPlan plan;
  for (const std::string& text : arguments.vary) {
    auto axis = study::parse_axis(text);
    if (!axis) {
      wrong_input(axis.error().message, axis.error().remedy);
      return std::nullopt;
    }
    plan.axes.push_back(std::move(*axis));
  }
  plan.set = arguments.set;
  plan.seed = arguments.seed;
  if (auto made = study::make_cells(plan); !made) {
    wrong_input(made.error().message, made.error().remedy);
    return std::nullopt;
  }
  for (const study::SweepCell& cell : plan.cells) {
    auto file = load_lab(arguments.lab, plan.set_of(cell), plan.seed, &cell == &plan.cells.front(), arguments.trust);
    if (!file || !is_simulated(file->lab)) return std::nullopt;
    if (&cell == &plan.cells.front() && !may_have_metrics(file->lab, arguments.metrics)) return std::nullopt;
    plan.lab_name = file->lab.name;
    plan.lab_text = file->text;
  }
  plan.out = arguments.out;
  if (plan.out.empty()) choose_directory(plan);
  return plan;
}

int run(const SweepArguments& arguments) {
  use_json(arguments.json);
  auto plan = plan_of(arguments);
  if (!plan) return kExitWrongInput;
  auto lock = DirectoryLock::take(plan->out);
  if (!lock) return kExitWrongInput;
  if (const auto other = study::other_sweep(*plan)) return wrong_input(other->message, other->remedy);
  plan->lab_path = arguments.lab;
  catch_interrupts();
  study::AskedFigures asked{arguments.metrics, {}};
  std::copy_if(asked.names.begin(), asked.names.end(), std::back_inserter(asked.counters), is_counter);
  study::SweepReader reader(*plan, std::move(asked));
  const std::size_t found = study::find_done(*plan);
  if (found > 0) fmt::print(stderr, "{} of {} runs exist already\n", found, plan->cells.size());
  const bool tells_json = arguments.progress == "json";
  const bool is_terminal = !tells_json && isatty(STDERR_FILENO) != 0;
  const auto began = std::chrono::steady_clock::now();
  bool written = true;
  const auto save = [&] {
    auto saved = write_file(plan->out + "/sweep.json", study::sweep_json(*plan, reader.figures()));
    if (!saved && written) failed(saved.error(), "free disk space, or choose another place with --out DIR");
    written = written && saved.has_value();
  };
  // Saving many cells takes long: it uses at most a tenth of the time.
  std::chrono::steady_clock::duration between = std::chrono::seconds(1);
  auto last_saved = std::chrono::steady_clock::now();
  study::SweepOptions options;
  options.program = own_program();
  options.at_once = arguments.jobs > 0 ? arguments.jobs : std::max(1u, std::thread::hardware_concurrency());
  options.untrusted = arguments.trust == lab::Trust::kNothing;
  std::atomic<bool> stops{false};
  options.cancel = &stops;
  MetricWatch metrics(certain_metrics(arguments, *plan), *plan);
  bool unsaved = false;
  const auto save_if_due = [&] {
    const auto now = std::chrono::steady_clock::now();
    if (!unsaved || now - last_saved < between) return;
    save();
    unsaved = false;
    last_saved = std::chrono::steady_clock::now();
    between = std::max<std::chrono::steady_clock::duration>(std::chrono::seconds(1), 10 * (last_saved - now));
  };
  options.look = [&] {
    stops = interrupted().load() || metrics.look();
    save_if_due();
  };
  options.changed = [&] {
    if (is_terminal) show_bar(done_of(*plan), plan->cells.size());
    if (tells_json)
      put_json_progress(done_of(*plan), plan->cells.size(),
                        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    unsaved = true;
  };
  save();
  study::run_cells(*plan, options);
  clear_progress_line();
  save();
  if (metrics.problem()) return wrong_input(metrics.problem()->message, metrics.problem()->remedy);
  const study::SweepFigures figures = reader.figures();
  auto text = study::sweep_text(*plan, figures, arguments.metrics);
  if (!text) return wrong_input(text.error().message, text.error().remedy);
  if (auto saved = write_file(plan->out + "/report.md", *text); !saved) written = false;
  put(arguments.json ? study::sweep_json(*plan, figures)
                     : *text + fmt::format("\n  {0}/sweep.json, {0}/report.md; each run in {0}/cell-N\n", plan->out));
  if (!written) return kExitFailed;
  if (interrupted().load()) {
    fmt::print(stderr, "interrupted; the same command resumes the sweep\n");
    return kExitInterrupted;
  }
  const bool well = std::all_of(plan->cells.begin(), plan->cells.end(),
                                [](const study::SweepCell& cell) { return cell.state == study::CellState::kDone; });
  return well ? kExitWell : kExitFailed;
}

}  // namespace

void add_sweep(CLI::App& app, int& status) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::App* verb = app.add_subcommand("sweep", "Run a lab over a grid of values, on all cores");
  verb->add_option("LAB", arguments->lab, "Lab file (docs/lab-file.md)")->required();
  verb->add_option("--vary", arguments->vary, "path=value,value,…: a dimension of the grid; may be repeated")
      ->required()
      ->allow_extra_args(false)
      ->take_all();
  verb->add_option("--set", arguments->set, "Change the lab of all runs: path=value; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_option("--seed", arguments->seed, "Seed of every random choice (default: the lab's)")
      ->check(whole_number(0, UINT64_MAX));
  verb->add_option(
      "--out", arguments->out,
      "Directory for the runs (default runs/NAME-sweep, or -2, -3, … for other values); existing runs are not "
      "repeated");
  verb->add_option("--metric", arguments->metrics, "A figure to show; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_option("--jobs", arguments->jobs, "Runs at the same time (default: one for each core)")
      ->check(whole_number(1, 1024));
  add_progress_option(*verb, arguments->progress);
  add_untrusted_option(*verb, arguments->trust);
  verb->add_flag("--json", arguments->json, "Print sweep.json instead of the table");
  verb->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace weft::cli
