// weft perftest LAB write_bw …: perftest's own flags and output, between two ports of a lab.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>

#include "base/files.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "model/perftest_check.h"
#include "model/port_pairs.h"
#include "results/kinds/perftest_json.h"
#include "tools/perftest/report.h"
#include "world/matrix_run.h"
#include "world/runner.h"

namespace weft::cli {

namespace {

struct PerftestArguments {
  std::string lab;
  std::string test;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> set;
  std::string client, server;
  std::string capture = "none";
  std::string capture_file = "capture.pcapng";
  CaptureArguments limits;
  std::uint32_t threads = 1;
  bool all_pairs = false;
  bool json = false;
  bool why = false;
};

// True if the two ends have what the flags ask of them: a larger MTU, another device, a priority.
bool fits(const lab::Lab& lab, const lab::PortPair& pair, const workload::PerftestOptions& options) {
  const lab::Lab measured = lab::with_perftest(lab, options, pair);
  const auto problems = lab::perftest_problems(options, measured, measured.workloads.front());
  for (const lab::TextError& problem : problems) wrong_input(problem.message, problem.remedy);
  return problems.empty();
}

// -d chooses among the client's ports where it has several; where none has that name, `fits` reports it.
lab::PortPair with_device(const lab::Lab& lab, const lab::PortPairs& pairs, const lab::PortPair& first,
                          const workload::PerftestOptions& options, const PerftestArguments& arguments) {
  if (options.device.empty() || arguments.client.find(':') != std::string::npos) return first;
  auto others = pairs.all(lab.hosts[first.client.host].name,
                          arguments.server.empty() ? lab.hosts[first.server.host].name : arguments.server);
  if (!others) return first;
  auto found = std::find_if(others->begin(), others->end(), [&](const lab::PortPair& pair) {
    return lab::device_name(lab, pair.client) == options.device;
  });
  return found == others->end() ? first : *found;
}

int write_json_file(const workload::PerftestOptions& options, const std::string& json, int status) {
  if (options.out_json_file.empty()) return status;
  auto written = write_file(options.out_json_file, json);
  return written ? status : failed(written.error(), "give another path to --out_json_file");
}

int measure_one(const lab::Lab& lab, const lab::PortPairs& pairs, const PerftestArguments& arguments,
                const workload::PerftestOptions& options) {
  auto ports = choose_ports(lab, arguments.capture);
  auto capture = read_capture_options(arguments.limits);
  if (!ports || !capture) return kExitWrongInput;
  auto pair = pairs.first(arguments.client, arguments.server);
  if (!pair) return wrong_input(pair.error().message, pair.error().remedy);
  *pair = with_device(lab, pairs, *pair, options, arguments);
  if (!fits(lab, *pair, options)) return kExitWrongInput;
  const lab::Lab measured_lab = lab::with_perftest(lab, options, *pair);
  limit_large_capture(measured_lab, *ports, true, *capture);
  lab::SessionOptions run;
  run.capture_ports = *ports;
  run.capture_path = arguments.capture_file;
  run.capture = *capture;
  run.cancel = &interrupted();
  run.why = arguments.why;
  auto result = lab::run_lab(measured_lab, run, show_progress());
  clear_progress_line();
  if (!result) return failed(result.error());
  const workload::PerftestResult& measured = *result->workloads.front().as<workload::PerftestResult>();
  if (arguments.json) {
    put(lab::perftest_json(options, measured, arguments.why));
  } else {
    put(workload::format_perftest(options, measured));
    const std::string verdict = lab::perftest_verdict(options, measured, arguments.why);
    // perftest has no such line: without --why it is not among what scripts read.
    if (arguments.why) {
      put(verdict.empty() ? "no account: there is none of atomics and inside one NIC\n" : verdict);
    } else {
      fmt::print(stderr, "{}", verdict);
    }
  }
  int status = result->failures().empty() ? kExitWell : kExitFailed;
  if (!result->capture_error.empty()) status = failed(result->capture_error);
  status = write_json_file(options, lab::perftest_json(options, measured, false), status);
  return result->interrupted ? kExitInterrupted : status;
}

int measure_all(const lab::Lab& lab, const lab::PortPairs& pairs, const PerftestArguments& arguments,
                const workload::PerftestOptions& options) {
  if (options.all_sizes) return wrong_input("--all-pairs with -a: a cell has one value", "choose a size with -s");
  if (options.report_unsorted || options.report_histogram)
    return wrong_input("--all-pairs with -U or -H: a cell has one value", "leave it out");
  if (arguments.why)
    return wrong_input("--all-pairs with --why: each pair has an account of its own",
                       "choose one with --client and --server");
  if (arguments.capture != "none")
    return wrong_input("--all-pairs with --capture: each pair runs in a world of its own",
                       "capture one pair with --client and --server");
  auto chosen = pairs.all(arguments.client, arguments.server);
  if (!chosen) return wrong_input(chosen.error().message, chosen.error().remedy);
  const auto is_other = [&](const lab::PortPair& pair) { return lab::device_name(lab, pair.client) != options.device; };
  if (!options.device.empty() && !std::all_of(chosen->begin(), chosen->end(), is_other))
    std::erase_if(*chosen, is_other);
  for (const lab::PortPair& pair : *chosen) {
    if (!fits(lab, pair, options)) return kExitWrongInput;
  }
  lab::MatrixOptions how;
  how.threads = arguments.threads;
  how.cancel = &interrupted();
  if (auto line = progress_line())
    how.progress = [line](std::size_t done, std::size_t all) mutable {
      line(0, fmt::format("pair {} of {}", done, all));
    };
  const lab::PerftestMatrix matrix = lab::run_matrix(lab, pairs, options, *chosen, how);
  clear_progress_line();
  const std::string json = lab::matrix_json(pairs, matrix);
  put(arguments.json ? json : lab::matrix_text(pairs, matrix));
  const int status = write_json_file(options, json, matrix.failed() ? kExitFailed : kExitWell);
  return matrix.interrupted ? kExitInterrupted : status;
}

int perftest(const PerftestArguments& arguments, const std::vector<std::string>& words) {
  use_json(arguments.json);
  auto file = load_lab(arguments.lab, arguments.set, arguments.seed);
  if (!file || !is_simulated(file->lab)) return kExitWrongInput;
  auto options = workload::parse_perftest(arguments.test, words);
  if (!options) {
    for (const std::string& problem : options.error()) {
      const std::size_t split = problem.find("; ");
      wrong_input(problem.substr(0, split), split == problem.npos ? "" : problem.substr(split + 2));
    }
    return kExitWrongInput;
  }
  catch_interrupts();
  const lab::PortPairs pairs(file->lab);
  return (arguments.all_pairs ? measure_all : measure_one)(file->lab, pairs, arguments, *options);
}

// Those that take a value; the others are flags.
constexpr std::string_view kOwnOptions[] = {"--client",       "--server",    "--seed",         "--set",
                                            "--capture",      "--snaplen",   "--capture-size", "--capture-files",
                                            "--capture-file", "--threads",   "--hosts",        "--gpus-per-host",
                                            "--env",          "--algorithm", "--nccl-version"};
constexpr std::string_view kOwnFlags[] = {"--all-pairs", "--json", "--why", "--every-iteration"};

}  // namespace

std::vector<std::string> with_own_options_first(std::vector<std::string> words) {
  if (words.empty() || (words.front() != "perftest" && words.front() != "nccl")) return words;
  std::vector<std::string> own{words.front()}, rest;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view name = std::string_view(words[i]).substr(0, words[i].find('='));
    const bool takes_value = std::find(std::begin(kOwnOptions), std::end(kOwnOptions), name) != std::end(kOwnOptions);
    const bool is_flag = std::find(std::begin(kOwnFlags), std::end(kOwnFlags), name) != std::end(kOwnFlags);
    (takes_value || is_flag ? own : rest).push_back(words[i]);
    if (takes_value && name.size() == words[i].size() && i + 1 < words.size()) own.push_back(words[++i]);
  }
  own.insert(own.end(), rest.begin(), rest.end());
  return own;
}

void add_perftest(CLI::App& app, int& status) {
  auto arguments = std::make_shared<PerftestArguments>();
  CLI::App* verb =
      app.add_subcommand("perftest", "Run one perftest between two ports of a lab, with perftest's own flags");
  verb->add_option("--client", arguments->client, "Client host or port: h0 or h0:p0 (default: the first host)");
  verb->add_option("--server", arguments->server, "Server host or port (default: the next that the client reaches)");
  verb->add_option("--seed", arguments->seed, "Seed of every random choice (default: the lab's)")
      ->check(whole_number(0, UINT64_MAX));
  verb->add_option("--set", arguments->set, "Change the lab: path=value")->allow_extra_args(false)->take_all();
  verb->add_option("--capture", arguments->capture, "Ports to capture: PORT[,PORT], all or none (default none)");
  verb->add_option("--capture-file", arguments->capture_file, "Where to write it (default capture.pcapng)");
  add_capture_options(*verb, arguments->limits);
  verb->add_flag(
      "--all-pairs", arguments->all_pairs,
      "Between every pair of hosts, one after the other: a matrix, and the pairs that are far from the median");
  verb->add_option("--threads", arguments->threads, "Pairs of --all-pairs at a time; the values are the same")
      ->check(whole_number(1, 256));
  verb->add_flag("--json", arguments->json, "Print perftest's JSON instead of its table");
  verb->add_flag("--why", arguments->why,
                 "Print where the bandwidth of the link went, and where each nanosecond of one message did");
  verb->add_option("LAB", arguments->lab, "Lab file")->required();
  verb->add_option("TEST", arguments->test,
                   "write_bw, write_lat, send_bw, send_lat, read_bw, read_lat, atomic_bw or atomic_lat")
      ->required();
  verb->footer(
      "Everything after TEST that is not an option of weft's goes to perftest: -s -a -n -D -b -q -m --report_gbits "
      "...");
  // perftest's flags are perftest's: -s, -n and friends must not be taken for ours.
  verb->prefix_command();
  verb->callback([arguments, verb, &status] { status = perftest(*arguments, verb->remaining()); });
}

}  // namespace weft::cli
