// weft inspect: collects this host's state into a bundle for weft doctor.
#include "gear/bundle/inspect.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/files.h"
#include "cli/output.h"
#include "cli/verbs.h"

namespace weft::cli {

namespace {

struct InspectArguments {
  std::string out;
  bool script = false;
};

int inspect(const InspectArguments& arguments) {
  std::string text(gear::inspect_script());
  if (!arguments.script) {
    auto bundle = gear::inspect_this_host();
    if (!bundle) return failed("cannot inspect this host: " + bundle.error(), "weft inspect --script | sh -x");
    text = std::move(*bundle);
  }
  if (arguments.out.empty()) {
    put(text);
    return kExitWell;
  }
  auto written = write_file(arguments.out, text);
  return written ? kExitWell : failed(written.error(), "choose another place with --out FILE");
}

}  // namespace

void add_inspect(CLI::App& app, int& status) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* verb = app.add_subcommand("inspect", "Collect the state of this host into a bundle; changes nothing");
  verb->add_option("--out", arguments->out, "File of the bundle (default: standard output)");
  verb->add_flag("--script", arguments->script, "Print the POSIX script that does it, for hosts without weft");
  verb->callback([arguments, &status] { status = inspect(*arguments); });
}

}  // namespace weft::cli
