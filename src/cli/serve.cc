// weft serve [DIR|LAB]: the page on 127.0.0.1 that shows runs, runs labs and compares (docs/page.md).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <thread>

#include "cli/common.h"
#include "cli/verbs.h"
#include "serve/event_routes.h"
#include "serve/fabric_routes.h"
#include "serve/flow_routes.h"
#include "serve/lab_routes.h"
#include "serve/run_place.h"
#include "serve/run_routes.h"
#include "serve/series_routes.h"
#include "serve/server.h"
#include "serve/static_routes.h"
#include "serve/study_routes.h"

namespace weft::cli {

namespace {

struct ServeArguments {
  std::string what = "runs";
  std::uint16_t port = 8420;
};

int run(const ServeArguments& arguments) {
  const serve::RunPlace place(arguments.what);
  serve::AnswerCache answers;
  serve::Router router;
  serve::add_run_routes(router, place, answers);
  serve::add_fabric_routes(router, place, answers);
  serve::add_series_routes(router, place, answers);
  serve::add_event_routes(router, place, answers);
  serve::add_flow_routes(router, place, answers);
  serve::add_lab_routes(router);
  serve::add_study_routes(router, place);
  serve::add_static_routes(router);
  serve::ServerOptions options;
  options.port = arguments.port;
  auto server = serve::Server::open(options, router);
  if (!server) return wrong_input(server.error(), "choose another port with --port, or 0 for any that is free");
  catch_interrupts();
  put(fmt::format("http://127.0.0.1:{}/\n", (*server)->port()));
  std::fflush(stdout);
  std::thread watch([&] {
    while (!interrupted().load()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    (*server)->stop();
  });
  (*server)->run();
  watch.join();
  return kExitWell;
}

}  // namespace

void add_serve(CLI::App& app, int& status) {
  auto arguments = std::make_shared<ServeArguments>();
  CLI::App* verb = app.add_subcommand("serve", "Open the page: watch runs, run labs, compare");
  verb->add_option("DIR", arguments->what, "Directory of runs, or of one run (default runs)");
  verb->add_option("--port", arguments->port, "TCP port on 127.0.0.1; 0: any that is free (default 8420)");
  verb->callback([arguments, &status] { status = run(*arguments); });
}

}  // namespace weft::cli
