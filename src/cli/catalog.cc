// weft catalog: the devices that a lab can name, every value with its source.
#include "catalog/catalog.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "catalog/catalog_text.h"
#include "cli/output.h"
#include "cli/verbs.h"
#include "gear/choose/choose.h"

namespace weft::cli {

namespace {

struct CatalogArguments {
  std::string name;
  bool json = false;
};

int list(bool json) {
  put(json ? lab::catalog_list_json(lab::Catalog::built_in()) : lab::catalog_list_text(lab::Catalog::built_in()));
  return kExitWell;
}

int show(const CatalogArguments& arguments) {
  const lab::Catalog& catalog = lab::Catalog::built_in();
  const lab::CatalogEntry* entry = catalog.entry(arguments.name);
  if (entry == nullptr) {
    auto near = catalog.nearest(arguments.name);
    return wrong_input(
        fmt::format("no device {} in the catalog", arguments.name),
        near.empty() ? "weft catalog list shows them all" : fmt::format("did you mean {}?", fmt::join(near, ", ")));
  }
  const gear::Market& market = gear::Market::built_in();
  put(arguments.json ? gear::catalog_show_json(*entry, market) : gear::catalog_show_text(*entry, market));
  return kExitWell;
}

}  // namespace

void add_catalog(CLI::App& app, int& status) {
  auto arguments = std::make_shared<CatalogArguments>();
  CLI::App* verb = app.add_subcommand("catalog", "The devices that a lab can name, with the source of every value");
  verb->require_subcommand(0, 1);
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->add_subcommand("list", "All devices (the default)")->fallthrough();
  CLI::App* show_verb = verb->add_subcommand("show", "One device");
  show_verb->fallthrough();
  show_verb->add_option("NAME", arguments->name, "Device name")->required();
  verb->callback([arguments, show_verb, &status] {
    use_json(arguments->json);
    status = show_verb->parsed() ? show(*arguments) : list(arguments->json);
  });
}

}  // namespace weft::cli
