// weft counters DIR NODE[:PORT]: what a device's own tools would have printed after a run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/common.h"
#include "cli/verbs.h"
#include "lab/counters_text.h"

namespace weft::cli {

namespace {

struct Arguments {
  std::string directory;
  std::string where;
  std::string as;
  bool json = false;
};

int run(const Arguments& arguments) {
  std::optional<lab::CounterStyle> style;
  if (!arguments.as.empty()) style = lab::counter_style(arguments.as);
  auto text = lab::counters_text(arguments.directory, arguments.where, style, arguments.json);
  if (!text) {
    fmt::print(stderr, "weft: {}\n  {}\n", text.error().message, text.error().remedy);
    return kExitWrongInput;
  }
  fmt::print("{}", *text);
  return kExitWell;
}

}  // namespace

void add_counters(CLI::App& app, int& status) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb =
      app.add_subcommand("counters", "Show the counters of a finished run as its devices' tools print them");
  verb->add_option("DIR", arguments->directory, "Directory that weft run has left behind")->required();
  verb->add_option("NODE", arguments->where, "A host or switch, or one of its ports: NODE[:PORT]")->required();
  verb->add_option("--as", arguments->as, "ethtool or rdma for a host, sonic or wjh for a switch")
      ->check(CLI::IsMember({"ethtool", "rdma", "sonic", "wjh"}));
  verb->add_flag("--json", arguments->json, "Print what results.json has of it");
  verb->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace weft::cli
