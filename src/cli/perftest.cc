// weft perftest LAB write_bw …: perftest's own flags and output, between two ports of a lab.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/common.h"
#include "cli/verbs.h"
#include "lab/perftest_check.h"
#include "lab/results_json.h"
#include "lab/runner.h"
#include "workload/perftest_report.h"

namespace weft::cli {

namespace {

struct Arguments {
  std::string lab;
  std::string test;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> set;
  std::string client, server;
  std::string capture = "none";
  std::string capture_file = "capture.pcapng";
  bool json = false;
};

// The ends of the first link, or those that --client and --server name ("vm00" or "vm00:p0").
bool choose_ends(const lab::Lab& lab, const Arguments& arguments, lab::WorkloadConfig& workload) {
  auto fits = [&](const lab::PortRef& port, const std::string& wanted) {
    return wanted.empty() || lab::port_name(lab, port) == wanted || lab.hosts[port.host].name == wanted;
  };
  bool found = false;
  for (const lab::LinkConfig& link : lab.links) {
    for (auto [client, server] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
      if (!fits(client, arguments.client) || !fits(server, arguments.server)) continue;
      // -d chooses among several; where none has that name, the first one serves to say so.
      const bool named =
          workload.perftest->device.empty() || lab::device_name(lab, client) == workload.perftest->device;
      if (found && !named) continue;
      workload.client = client;
      workload.server = server;
      if (named) return true;
      found = true;
    }
  }
  if (found) return true;
  fmt::print(
      stderr,
      "weft: no cable joins --client {} and --server {}\n  name a host or a port of the lab, e.g. vm00 or vm00:p0\n",
      arguments.client.empty() ? "(any)" : arguments.client, arguments.server.empty() ? "(any)" : arguments.server);
  return false;
}

int perftest(const Arguments& arguments, const std::vector<std::string>& words) {
  auto file = load_lab(arguments.lab, arguments.set, arguments.seed);
  if (!file || !is_simulated(file->lab)) return kExitWrongInput;
  auto options = workload::parse_perftest(arguments.test, words);
  if (!options) {
    for (const std::string& problem : options.error()) fmt::print(stderr, "weft perftest: {}\n", problem);
    return kExitWrongInput;
  }
  lab::Lab& lab = file->lab;
  auto ports = choose_ports(lab, arguments.capture);
  lab::WorkloadConfig workload;
  workload.name = workload::perftest_name(*options);
  workload.perftest = *options;
  if (!ports || !choose_ends(lab, arguments, workload)) return kExitWrongInput;
  const auto problems = lab::perftest_problems(*options, lab, workload);
  for (const lab::TextError& problem : problems)
    fmt::print(stderr, "weft perftest: {}\n  {}\n", problem.message, problem.remedy);
  if (!problems.empty()) return kExitWrongInput;
  lab.workloads = {workload};
  lab.expectations.clear();

  catch_interrupts();
  lab::RunOptions run;
  run.capture_ports = *ports;
  run.capture_path = arguments.capture_file;
  run.cancel = &interrupted();
  run.progress = progress_line();
  auto result = lab::run_lab(lab, run);
  clear_progress_line();
  if (!result) {
    fmt::print(stderr, "weft: {}\n", result.error());
    return kExitWrongInput;
  }
  const workload::PerftestResult& measured = *result->workloads.front().perftest;
  std::string json = lab::perftest_json(*options, measured);
  fmt::print("{}", arguments.json ? json : workload::format_perftest(*options, measured));
  if (!options->out_json_file.empty() && !write_file(options->out_json_file, json)) return kExitWrongInput;
  if (result->interrupted) return kExitInterrupted;
  bool failed = measured.rows.empty() || !measured.rows.back().failure.empty();
  return failed ? kExitFailed : kExitWell;
}

}  // namespace

void add_perftest(CLI::App& app, int& status) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb =
      app.add_subcommand("perftest", "Run one perftest between two ports of a lab, with perftest's own flags");
  verb->add_option("--client", arguments->client, "Client host or port (default: first end of the first link)");
  verb->add_option("--server", arguments->server, "Server host or port (default: the other end)");
  verb->add_option("--seed", arguments->seed, "Seed of every random choice (default: the lab's)");
  verb->add_option("--set", arguments->set, "Change the lab: path=value")->allow_extra_args(false)->take_all();
  verb->add_option("--capture", arguments->capture, "Ports to capture: PORT[,PORT], all or none (default none)");
  verb->add_option("--capture-file", arguments->capture_file, "Where to write it (default capture.pcapng)");
  verb->add_flag("--json", arguments->json, "Print perftest's JSON instead of its table");
  verb->add_option("LAB", arguments->lab, "Lab file")->required();
  verb->add_option("TEST", arguments->test,
                   "write_bw, write_lat, send_bw, send_lat, read_bw, read_lat, atomic_bw or atomic_lat")
      ->required();
  verb->footer(
      "weft's own options come before LAB; everything after TEST goes to perftest: -s -a -n -D -b -q -m --report_gbits "
      "...");
  // perftest's flags are perftest's: -s, -n and friends must not be taken for ours.
  verb->prefix_command();
  verb->callback([arguments, verb, &status] { status = perftest(*arguments, verb->remaining()); });
}

}  // namespace weft::cli
