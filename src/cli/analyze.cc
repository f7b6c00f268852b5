// weft analyze: what happened in a capture, and what to change.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "analyze/analyzer.h"
#include "analyze/diff.h"
#include "base/files.h"
#include "cli/common.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "gear/wire_contract.h"

namespace weft::cli {
namespace {

struct AnalyzeArguments {
  std::vector<std::string> files;
  std::vector<std::string> counters;
  std::string diff;
  std::string lab;
  std::vector<std::string> set;
  bool no_icrc = false;
  bool json = false;
};

// ADDRESS=AFTER or ADDRESS=AFTER,BEFORE
tl::expected<analyze::PortCounters, std::string> port_counters(const std::string& argument) {
  constexpr std::size_t kMost_B = 1 << 22;
  const std::size_t equal = argument.find('=');
  if (equal == 0 || equal == argument.npos) return tl::unexpected(argument + ": not ADDRESS=FILE");
  analyze::PortCounters port;
  port.address = argument.substr(0, equal);
  const std::string files = argument.substr(equal + 1);
  const std::size_t comma = files.find(',');
  port.file = files.substr(0, comma);
  auto read = [](const std::string& path) -> tl::expected<analyze::Counters, std::string> {
    const auto text = read_file(path, kMost_B);
    if (!text) return tl::unexpected(path + ": " + text.error());
    auto counters = analyze::read_counters(*text);
    if (!counters) return tl::unexpected(path + ": " + counters.error());
    return counters;
  };
  auto after = read(port.file);
  if (!after) return tl::unexpected(after.error());
  port.counters = std::move(*after);
  if (comma == files.npos) return port;
  const auto before = read(files.substr(comma + 1));
  if (!before) return tl::unexpected(before.error());
  for (auto& [name, value] : port.counters) {
    const auto was = before->find(name);
    if (was == before->end()) continue;
    if (was->second > value) return tl::unexpected(fmt::format("{}: {} is smaller than before", port.file, name));
    value -= was->second;
  }
  return port;
}

int analyze_captures(const AnalyzeArguments& arguments) {
  use_json(arguments.json);
  analyze::AnalyzeOptions options;
  options.decode.check_icrc = !arguments.no_icrc;
  for (const std::string& each : arguments.counters) {
    auto port = port_counters(each);
    if (!port) return wrong_input(port.error(), "--counters 10.0.0.1=FILE: what ethtool -S or rdma statistic prints");
    options.counters.push_back(std::move(*port));
  }
  if (!arguments.lab.empty()) {
    const auto file = load_lab(arguments.lab, arguments.set, std::nullopt);
    if (!file) return kExitWrongInput;
    options.contract = gear::wire_contract(file->lab);
  }
  const auto analysis = analyze::analyze_files(arguments.files, options);
  if (!analysis) return wrong_input(analysis.error(), "weft analyze reads pcap and pcapng files");
  if (!arguments.diff.empty()) {
    const auto other = analyze::analyze_files({arguments.diff}, options);
    if (!other) return wrong_input(other.error(), "weft analyze reads pcap and pcapng files");
    const auto changes = analyze::differences(*other, *analysis);
    put(arguments.json ? analyze::changes_json(changes, arguments.diff, arguments.files.front())
                       : analyze::changes_text(changes, arguments.diff, arguments.files.front()));
    return changes.empty() ? kExitWell : kExitFailed;
  }
  put(arguments.json ? analyze::analysis_json(*analysis) : analyze::analysis_text(*analysis));
  return analysis->findings.healthy() ? kExitWell : kExitFailed;
}

}  // namespace

void add_analyze(CLI::App& app, int& status) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  CLI::App* verb = app.add_subcommand("analyze", "Say what happened in captures, what is wrong and what to change");
  verb->add_option("FILE", arguments->files, "pcap or pcapng files; several are merged by time")->required();
  verb->add_option(
      "--counters", arguments->counters,
      "ADDRESS=FILE[,BEFORE]: counters of that port (ethtool -S, rdma statistic), held against the capture");
  verb->add_option("--diff", arguments->diff, "Say what changed since this capture of the same work");
  verb->add_option("--lab", arguments->lab, "Hold the frames against the QoS contract of this lab");
  verb->add_option("--set", arguments->set, "Change a value of that lab, as for run");
  verb->add_flag("--no-icrc", arguments->no_icrc, "Do not check the ICRC of each frame");
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->footer("Exit status: 0 healthy, 1 findings, 2 input that cannot be read.");
  verb->callback([arguments, &status] { status = analyze_captures(*arguments); });
}

}  // namespace weft::cli
