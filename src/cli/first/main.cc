// The verbs `run` and `up` as a program of their own, which needs half of what weft needs: ./run prints its first
// report with it while the rest is still to be built, and the sanitized world of the tests is one.
#include <CLI/CLI.hpp>

#include "base/huge_pages.h"
#include "cli/output.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  using namespace weft::cli;
  guard_standard_streams();
  weft::use_huge_pages();
  CLI::App app("Weft: the verbs run and up");
  app.require_subcommand(1);
  int status = kExitWell;
  add_run(app, status);
  add_up(app, status);
  CLI11_PARSE(app, argc, argv);
  return finish(status);
}
