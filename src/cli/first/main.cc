// `weft run` as a program of its own, which needs half of what weft needs: ./run prints its first report with it while
// the rest is still to be built.
#include <CLI/CLI.hpp>

#include "base/huge_pages.h"
#include "cli/output.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  using namespace weft::cli;
  guard_standard_streams();
  weft::use_huge_pages();
  CLI::App app("Weft: the verb run");
  app.require_subcommand(1);
  int status = kExitWell;
  add_run(app, status);
  CLI11_PARSE(app, argc, argv);
  return finish(status);
}
