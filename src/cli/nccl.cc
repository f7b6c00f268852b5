// weft nccl LAB all_reduce …: nccl-tests' own flags and output, on the GPUs of a lab.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "base/files.h"
#include "base/nearest.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "model/nccl_job.h"
#include "nccl/decide/environment.h"
#include "nccl/text/graph_xml.h"
#include "nccl/text/tests_options.h"
#include "nccl/text/tests_table.h"
#include "nccl/text/topology_xml.h"
#include "results/kinds/nccl_json.h"
#include "world/runner.h"

extern "C" char** environ;  // NOLINT(readability-redundant-declaration)

namespace weft::cli {

namespace {

struct NcclArguments {
  std::string lab, test, hosts, algorithm, version;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> set, env;
  std::uint32_t gpus_per_host = 0, threads = 1;
  bool json = false, every_iteration = false;
};

// Those of the shell, then those of --env, which count more.
bool read_environment(const NcclArguments& arguments, workload::NcclOptions& options) {
  const auto add = [&](std::string_view text) {
    const std::size_t equal = text.find('=');
    if (equal == text.npos || !text.starts_with("NCCL_")) return false;
    const std::string name(text.substr(0, equal));
    std::erase_if(options.environment, [&](const auto& each) { return each.first == name; });
    options.environment.emplace_back(name, text.substr(equal + 1));
    return true;
  };
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) add(*each);
  for (const std::string& text : arguments.env) {
    if (!add(text)) {
      wrong_input(fmt::format("--env {} is not a variable of NCCL", text), "write e.g. --env NCCL_DEBUG=INFO");
      return false;
    }
  }
  return true;
}

bool read_hosts(const NcclArguments& arguments, const lab::Lab& lab, workload::NcclOptions& options) {
  if (arguments.hosts.empty()) {
    options.hosts = lab::hosts_with_gpus(lab);
    return true;
  }
  for (const std::string& name : CLI::detail::split(arguments.hosts, ',')) {
    std::uint32_t index = 0;
    while (index < lab.hosts.size() && lab.hosts[index].name != name) ++index;
    if (index == lab.hosts.size()) {
      std::vector<std::string_view> names;
      for (const lab::HostConfig& host : lab.hosts) names.push_back(host.name);
      wrong_input(fmt::format("--hosts: the lab has no host {}", name), did_you_mean(name, names, "hosts"));
      return false;
    }
    options.hosts.push_back(index);
  }
  return true;
}

// NCCL_GRAPH_DUMP_FILE and NCCL_TOPO_DUMP_FILE, of rank 0's machine.
int write_dumps(const workload::NcclOptions& options, const lab::Lab& lab) {
  const nccl::Environment environment = lab::nccl_environment(options).environment;
  if (environment.graph_dump_file.empty() && environment.topo_dump_file.empty()) return kExitWell;
  const nccl::Cluster cluster = lab::nccl_machines(lab, options.hosts).cluster;
  const nccl::Communicator decided(cluster, lab::nccl_ranks(lab, options.hosts, options.gpus_per_host), environment);
  int status = kExitWell;
  const auto write = [&](const std::string& path, const std::string& text) {
    auto written = path.empty() ? tl::expected<void, std::string>() : write_file(path, text);
    if (!written) status = failed(written.error(), "give another path");
  };
  write(environment.graph_dump_file, nccl::graph_xml(decided, 0));
  write(environment.topo_dump_file, nccl::topology_xml(cluster, decided, 0));
  return status;
}

int nccl(const NcclArguments& arguments, const std::vector<std::string>& words) {
  use_json(arguments.json);
  auto file = load_lab(arguments.lab, arguments.set, arguments.seed);
  if (!file || !is_simulated(file->lab)) return kExitWrongInput;
  auto test = nccl::parse_tests(arguments.test, words);
  if (!test) {
    for (const std::string& problem : test.error()) {
      const std::size_t split = problem.find("; ");
      wrong_input(problem.substr(0, split), split == problem.npos ? "" : problem.substr(split + 2));
    }
    return kExitWrongInput;
  }
  workload::NcclOptions options;
  options.test = *std::move(test);
  options.gpus_per_host = arguments.gpus_per_host;
  options.every_iteration = arguments.every_iteration;
  if (!arguments.version.empty()) {
    const auto version = nccl::parse_version(arguments.version);
    if (!version) {
      wrong_input(fmt::format("--nccl-version {} is not a version from 2.18 to 2.30", arguments.version),
                  "write e.g. --nccl-version 2.21.5");
      return kExitWrongInput;
    }
    options.version = *version;
  }
  options.halving_doubling = arguments.algorithm == "halving-doubling";
  if (!read_environment(arguments, options) || !read_hosts(arguments, file->lab, options)) return kExitWrongInput;
  const auto problems = lab::nccl_problems(options, file->lab);
  for (const lab::TextError& problem : problems) wrong_input(problem.message, problem.remedy);
  if (!problems.empty()) return kExitWrongInput;
  for (const lab::TextError& warning : lab::nccl_warnings(options))
    fmt::print(stderr, "weft: warning: {}; {}\n", warning.message, warning.remedy);
  catch_interrupts();
  lab::SessionOptions run;
  run.cancel = &interrupted();
  run.domains = run.threads = arguments.threads;
  const lab::Lab measured_lab = lab::with_nccl(file->lab, options);
  auto result = lab::run_lab(measured_lab, run, show_progress());
  clear_progress_line();
  if (!result) return failed(result.error());
  const auto& measured = *result->workloads.front().as<workload::NcclResult>();
  const std::string json = lab::nccl_json(options, measured);
  put(arguments.json ? json : measured.log + nccl::format_tests(options.test, measured.report));
  int status = write_dumps(options, file->lab);
  for (const std::string& failure : result->failures()) status = failed(failure);
  if (!options.test.json_file.empty()) {
    auto written = write_file(options.test.json_file, json);
    if (!written) status = failed(written.error(), "give another path to -J");
  }
  return result->interrupted ? kExitInterrupted : status;
}

}  // namespace

void add_nccl(CLI::App& app, int& status) {
  auto arguments = std::make_shared<NcclArguments>();
  CLI::App* verb = app.add_subcommand("nccl", "Run a test of nccl-tests on the GPUs of a lab, with its own flags");
  verb->add_option("--hosts", arguments->hosts, "Hosts, in the order of their ranks: h0,h1 (default: all with GPUs)");
  verb->add_option("--gpus-per-host", arguments->gpus_per_host, "Ranks of a host, as mpirun -N (default: all its GPUs)")
      ->check(whole_number(1, 1024));
  verb->add_option("--env", arguments->env, "A variable of NCCL, as mpirun -x: NCCL_DEBUG=INFO; may be repeated")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_option("--nccl-version", arguments->version, "Where NCCL changed from 2.18 to 2.30, as this one: 2.21.5");
  verb->add_option("--algorithm", arguments->algorithm,
                   "Of all_reduce: nccl (NCCL's choice) or halving-doubling (MPI's recursive halving and doubling)")
      ->check(CLI::IsMember({"nccl", "halving-doubling"}));
  verb->add_option("--seed", arguments->seed, "Seed of every random choice (default: the lab's)")
      ->check(whole_number(0, UINT64_MAX));
  verb->add_option("--set", arguments->set, "Change the lab: path=value")->allow_extra_args(false)->take_all();
  verb->add_option("--threads", arguments->threads, "Threads that share the nodes; the results are the same")
      ->check(whole_number(1, 256));
  verb->add_flag("--every-iteration", arguments->every_iteration,
                 "Simulate all -n iterations of large sizes too, which only repeat each other");
  verb->add_flag("--json", arguments->json, "Print nccl-tests' JSON instead of its table");
  verb->add_option("LAB", arguments->lab, "Lab file")->required();
  verb->add_option("TEST", arguments->test,
                   "all_reduce, all_gather, reduce_scatter, alltoall, broadcast, reduce, gather, scatter, sendrecv or "
                   "hypercube")
      ->required();
  verb->footer(
      "Everything after TEST that is not an option of weft's goes to nccl-tests: -b -e -f -g -n -w -o -d -r -c ...");
  // nccl-tests' flags are its own.
  verb->prefix_command();
  verb->callback([arguments, verb, &status] { status = nccl(*arguments, verb->remaining()); });
}

}  // namespace weft::cli
