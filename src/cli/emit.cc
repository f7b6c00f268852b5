// weft emit LAB --for TARGET [NODE]: configuration of real gear from the lab's QoS contract.
#include "gear/emit/emit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/files.h"
#include "cli/common.h"
#include "cli/verbs.h"

namespace weft::cli {

namespace {

struct EmitArguments {
  std::string lab, target, out;
  std::vector<std::string> set;
  gear::EmitOptions options;
  std::string network, stack;
  bool json = false;
};

int write_out(const EmitArguments& arguments, const gear::Emission& emission) {
  for (const gear::EmittedFile& file : emission.files) {
    const std::filesystem::path path = std::filesystem::path(arguments.out) / file.path;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error)
      return wrong_input(fmt::format("cannot make {}: {}", path.parent_path().string(), error.message()),
                         "choose another place with --out DIR");
    if (auto written = write_file(path.string(), file.text); !written) return failed(written.error());
    if (file.executable) chmod(path.c_str(), 0755);
    if (!arguments.json) put(path.string() + "\n");
  }
  return kExitWell;
}

std::string emission_json(const EmitArguments& arguments, const lab::Lab& lab, const gear::Emission& emission) {
  std::vector<std::string> files, notes;
  for (const gear::EmittedFile& file : emission.files)
    files.push_back(fmt::format("{{\"path\": {}, \"text\": {}}}", json_string(file.path), json_string(file.text)));
  for (const gear::EmitNote& note : emission.notes)
    notes.push_back(
        fmt::format("{{\"node\": {}, \"message\": {}}}", json_string(note.node), json_string(note.message)));
  return fmt::format("{{\"lab\": {}, \"target\": {}, \"files\": [{}], \"notes\": [{}]}}\n", json_string(lab.name),
                     json_string(arguments.target), fmt::join(files, ", "), fmt::join(notes, ", "));
}

int emit(EmitArguments& arguments) {
  use_json(arguments.json);
  if (arguments.options.management && !gear::is_interface_name(*arguments.options.management))
    return wrong_input(fmt::format("--management {} is no name of an interface", *arguments.options.management),
                       "letters, digits, '.', '_', '-' and '@', 15 at most: eno1");
  auto file = load_lab(arguments.lab, arguments.set, std::nullopt);
  if (!file) return kExitWrongInput;
  using gear::DriverStack, gear::Network;
  const std::pair<std::string_view, Network> networks[] = {{"netplan", Network::kNetplan},
                                                           {"nmcli", Network::kNmcli},
                                                           {"networkd", Network::kNetworkd},
                                                           {"ip", Network::kIp}};
  for (const auto& [word, value] : networks) {
    if (word == arguments.network) arguments.options.network = value;
  }
  if (!arguments.stack.empty())
    arguments.options.stack = arguments.stack == "ofed"      ? DriverStack::kOfed
                              : arguments.stack == "in-tree" ? DriverStack::kInTree
                                                             : DriverStack::kAuto;
  const auto emission = gear::emit(file->lab, arguments.target, arguments.options);
  if (!emission) {
    for (const gear::EmitProblem& problem : emission.error()) {
      if (problem.part == gear::LabPart::kNone) {
        wrong_input(problem.message, problem.remedy);
        continue;
      }
      const lab::Place place = gear::place_of(file->text, problem);
      report_problem(arguments.lab, {place.line, place.column, problem.message, problem.remedy, ""});
    }
    return kExitWrongInput;
  }
  if (arguments.json) {
    put(emission_json(arguments, file->lab, *emission));
  } else {
    for (const gear::EmitNote& note : emission->notes)
      fmt::print(stderr, "{}: not expressed in {}: {}\n", note.node, arguments.target, note.message);
  }
  if (!arguments.out.empty()) return write_out(arguments, *emission);
  if (arguments.json) return kExitWell;
  for (const gear::EmittedFile& each : emission->files) {
    if (emission->files.size() > 1) put(fmt::format("==> {} <==\n", each.path));
    put(each.text);
  }
  return kExitWell;
}

}  // namespace

void add_emit(CLI::App& app, int& status) {
  auto arguments = std::make_shared<EmitArguments>();
  CLI::App* verb = app.add_subcommand("emit", "Write the configuration of real switches and hosts from a lab");
  verb->add_option("LAB", arguments->lab, "Lab file (docs/lab-file.md)")->required();
  verb->add_option("NODE", arguments->options.node, "One host or switch (default: all that the target fits)");
  std::vector<std::string> targets;
  for (const gear::EmitTarget& target : gear::emit_targets()) targets.emplace_back(target.name);
  verb->add_option("--for", arguments->target, fmt::format("Target: {} (docs/gear.md)", fmt::join(targets, ", ")))
      ->required();
  verb->add_option("--out", arguments->out, "Write the files under this directory (default: print them)");
  verb->add_flag("--numbered", arguments->options.numbered, "Routing: a /31 on each link in place of BGP unnumbered");
  verb->add_option("--network", arguments->network, "Hosts: netplan, nmcli, networkd or ip keeps addresses and MTUs")
      ->check(CLI::IsMember({"netplan", "nmcli", "networkd", "ip"}));
  verb->add_option("--stack", arguments->stack, "Hosts: ofed or in-tree drivers (default: by what the host runs)")
      ->check(CLI::IsMember({"auto", "ofed", "in-tree"}));
  verb->add_option("--management", arguments->options.management, "Hosts: interface of the management network (eno1)");
  verb->add_flag("--sonic-vs", arguments->options.sonic_vs, "containerlab: SONiC-VS nodes in place of FRR");
  verb->add_option("--set", arguments->set, "Change the lab before reading it: path=value")
      ->allow_extra_args(false)
      ->take_all();
  verb->add_flag("--json", arguments->json, "Print files and notes as JSON");
  verb->callback([arguments, &status] { status = emit(*arguments); });
}

}  // namespace weft::cli
