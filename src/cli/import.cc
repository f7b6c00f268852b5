// weft import FILE: config_db.json of SONiC as a QoS contract, a containerlab topology as a lab file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/files.h"
#include "base/nearest.h"
#include "catalog/catalog.h"
#include "cli/common.h"
#include "cli/verbs.h"
#include "gear/import/clab.h"
#include "gear/import/sonic.h"

namespace weft::cli {

namespace {

constexpr std::size_t kLargestImport_B = 8'000'000;

struct ImportArguments {
  std::string file, against, node;
  gear::ClabOptions clab;
  bool json = false;
};

std::string values_json(const gear::Contract& contract) {
  std::vector<std::string> values;
  for (const auto& [name, value] : gear::contract_values(contract))
    values.push_back(fmt::format("{}: {}", json_string(name), json_string(value)));
  return fmt::format("{{{}}}", fmt::join(values, ", "));
}

std::string list_json(const std::vector<std::string>& texts) {
  std::vector<std::string> listed;
  for (const std::string& each : texts) listed.push_back(json_string(each));
  return fmt::format("[{}]", fmt::join(listed, ", "));
}

// The first few, for a person; --json has all.
void print_notes(const ImportArguments& arguments, const std::vector<std::string>& notes) {
  constexpr std::size_t kMostLines = 20;
  if (arguments.json) return;
  for (std::size_t i = 0; i < std::min(notes.size(), kMostLines); ++i)
    fmt::print(stderr, "{}: {}\n", arguments.file, notes[i]);
  if (notes.size() > kMostLines)
    fmt::print(stderr, "{}: and {} more; --json has all\n", arguments.file, notes.size() - kMostLines);
}

int compare(const ImportArguments& arguments, const gear::Contract& imported, const std::vector<std::string>& notes) {
  auto file = load_lab(arguments.against, {}, std::nullopt);
  if (!file) return kExitWrongInput;
  const std::string wanted = arguments.node.empty() ? imported.node : arguments.node;
  std::vector<std::string_view> names;
  for (std::uint32_t i = 0; i < file->lab.switches.size(); ++i) {
    names.push_back(file->lab.switches[i].name);
    if (file->lab.switches[i].name != wanted) continue;
    const auto differences =
        gear::contract_differences(gear::contract_of(file->lab, i), arguments.against, imported, arguments.file);
    if (arguments.json) {
      put(fmt::format("{{\"node\": {}, \"same\": {}, \"differences\": {}, \"notes\": {}}}\n", json_string(wanted),
                      differences.empty(), list_json(differences), list_json(notes)));
    } else if (differences.empty()) {
      put(fmt::format("{}: the same contract as {}\n", arguments.file, wanted));
    } else {
      put(fmt::format("{}\n", fmt::join(differences, "\n")));
    }
    return differences.empty() ? kExitWell : kExitFailed;
  }
  return wrong_input(fmt::format("{} has no switch {}", arguments.against, wanted),
                     did_you_mean(wanted, names, "switches"));
}

int import_contract(const ImportArguments& arguments, const std::string& text) {
  const auto imported = gear::import_sonic(text);
  if (!imported) {
    for (const lab::Problem& problem : imported.error()) report_problem(arguments.file, problem);
    return kExitWrongInput;
  }
  std::vector<std::string> notes = imported->notes;
  if (!arguments.against.empty()) {
    print_notes(arguments, notes);
    return compare(arguments, imported->contract, notes);
  }
  for (const gear::ContractPort& port : imported->contract.ports) {
    for (const auto& [name, value] : port.own)
      notes.push_back(fmt::format("{} differs from most ports: {}: {}", port.name, name, value));
  }
  print_notes(arguments, notes);
  if (arguments.json) {
    put(fmt::format("{{\"node\": {}, \"values\": {}, \"notes\": {}}}\n", json_string(imported->contract.node),
                    values_json(imported->contract), list_json(notes)));
  } else {
    put("# DSCP chain\n" + gear::chain_table(imported->contract, "# ") + gear::contract_yaml(imported->contract));
  }
  return kExitWell;
}

int import_topology(const ImportArguments& arguments, const std::string& text) {
  if (!arguments.against.empty() || !arguments.node.empty())
    return wrong_input("--against and --node are for config_db.json",
                       "a topology becomes a lab: weft validate checks it");
  if (lab::Catalog::built_in().nic(arguments.clab.nic_model) == nullptr)
    return wrong_input("--nic " + arguments.clab.nic_model + ": there is no such NIC in the catalog",
                       "weft catalog list shows them all");
  const auto imported = gear::import_clab(text, arguments.clab);
  if (!imported) {
    for (const lab::Problem& problem : imported.error()) report_problem(arguments.file, problem);
    return kExitWrongInput;
  }
  print_notes(arguments, imported->notes);
  put(arguments.json
          ? fmt::format("{{\"lab\": {}, \"notes\": {}}}\n", json_string(imported->lab), list_json(imported->notes))
          : imported->lab);
  return kExitWell;
}

int import(const ImportArguments& arguments) {
  use_json(arguments.json);
  auto text = read_file(arguments.file, kLargestImport_B);
  if (!text)
    return wrong_input(fmt::format("cannot read {}: {}", arguments.file, text.error()),
                       "give the path of a config_db.json, a .clab.yml or an .air.json");
  const auto ends_with = [&](std::string_view end) { return std::string_view(arguments.file).ends_with(end); };
  if (ends_with(".yml") || ends_with(".yaml") || ends_with(".air.json")) return import_topology(arguments, *text);
  return import_contract(arguments, *text);
}

}  // namespace

void add_import(CLI::App& app, int& status) {
  auto arguments = std::make_shared<ImportArguments>();
  CLI::App* verb = app.add_subcommand("import", "Read config_db.json of SONiC or a containerlab topology");
  verb->add_option("FILE", arguments->file, "config_db.json, NAME.clab.yml or NAME.air.json")->required();
  verb->add_option("--against", arguments->against, "Compare the contract with that of a lab; 1 when they differ");
  verb->add_option("--node", arguments->node, "The switch of that lab (default: the file's hostname)");
  verb->add_option("--switch", arguments->clab.switch_model, "Model of the topology's switches (sn3700c)");
  verb->add_option("--nic", arguments->clab.nic_model, "NIC of the topology's hosts (cx5-100g)");
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->callback([arguments, &status] { status = import(*arguments); });
}

}  // namespace weft::cli
