// weft qos LAB [NODE]: what the lab's QoS contract became on each device.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/nearest.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "results/qos/qos_text.h"

namespace weft::cli {

namespace {

struct QosArguments {
  std::string lab;
  std::string node;
  std::vector<std::string> set;
  bool json = false;
};

int show(const QosArguments& arguments) {
  use_json(arguments.json);
  auto file = load_lab(arguments.lab, arguments.set, std::nullopt);
  if (!file) return kExitWrongInput;
  const lab::Lab& lab = file->lab;
  std::vector<std::string_view> names;
  for (const auto& device : lab.switches) names.push_back(device.name);
  for (const auto& host : lab.hosts) names.push_back(host.name);
  if (!arguments.node.empty() && std::find(names.begin(), names.end(), arguments.node) == names.end()) {
    return wrong_input(fmt::format("{} has no node {}", arguments.lab, arguments.node),
                       did_you_mean(arguments.node, names, "nodes"));
  }
  put(arguments.json ? lab::qos_json(lab, arguments.node) : lab::qos_text(lab, arguments.node));
  return kExitWell;
}

}  // namespace

void add_qos(CLI::App& app, int& status) {
  auto arguments = std::make_shared<QosArguments>();
  CLI::App* verb = app.add_subcommand("qos", "Show what each switch and host of a lab does with which traffic");
  verb->add_option("LAB", arguments->lab, "Lab file (docs/lab-file.md)")->required();
  verb->add_option("NODE", arguments->node, "One host or switch (default: all)");
  verb->add_option("--set", arguments->set, "Change the lab before reading it: path=value")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->callback([arguments, &status] { status = show(*arguments); });
}

}  // namespace weft::cli
