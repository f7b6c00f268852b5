// weft: the AI-interconnect lab on one machine.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/huge_pages.h"
#include "cli/common.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  using namespace weft::cli;
  weft::use_huge_pages();
  CLI::App app(
      "Weft: an AI-interconnect lab in software. Describe hosts, NICs, switches and cables in one file; run real "
      "RoCEv2 "
      "through "
      "them.");
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  app.require_subcommand(1);
  int status = kExitWell;
  add_run(app, status);
  add_validate(app, status);
  add_qos(app, status);
  add_perftest(app, status);
  add_catalog(app, status);
  add_counters(app, status);
  add_up(app, status);
  add_exec(app, status);
  add_ps(app, status);
  add_down(app, status);
  try {
    std::vector<std::string> words = with_end_of_options(argc, argv);
    std::reverse(words.begin(), words.end());
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    int code = app.exit(error);
    return code == 0 ? kExitWell : kExitWrongInput;
  }
  return status;
}
