// weft: the AI-interconnect lab on one machine.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <new>
#include <sstream>

#include "base/huge_pages.h"
#include "base/nearest.h"
#include "cli/output.h"
#include "cli/verbs.h"

namespace {

using namespace weft::cli;

// Errors of CLI11 about a command line that it cannot read, in our form: what, and what to do.
int complain_of(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  use_json(std::find(words.begin(), words.end(), "--json") != words.end());
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands({})) names.push_back(verb->get_name());
  const std::vector<std::string_view> verbs(names.begin(), names.end());
  if (words.empty()) return wrong_input("no verb", "use one of " + weft::join(verbs) + "; see weft --help");
  if (std::find(verbs.begin(), verbs.end(), words.front()) == verbs.end() && !words.front().starts_with("-"))
    return wrong_input("no verb " + words.front(), weft::did_you_mean(words.front(), verbs, "verbs"));
  if (words.front().starts_with("-")) return wrong_input("no option " + words.front(), "weft --help shows the verbs");
  std::string message = error.what();
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
  std::string verb = words.front();
  const CLI::App* chosen = app.get_subcommand(verb);
  for (const CLI::App* part : chosen->get_subcommands({}))
    if (words.size() > 1 && part->get_name() == words[1]) verb += " " + words[1];
  return wrong_input(message, "weft " + verb + " --help shows the arguments");
}

// Wherever it happens, also where nothing can be thrown. Nothing is allocated here.
[[noreturn]] void out_of_memory() {
  rlimit most{};
  getrlimit(RLIMIT_AS, &most);
  char line[160];
  int size_B = std::snprintf(line, sizeof(line), "weft: out of memory; take a smaller lab\n");
  if (most.rlim_cur != RLIM_INFINITY)
    size_B = std::snprintf(line, sizeof(line), "weft: out of memory: %llu kB are allowed; raise `ulimit -v`\n",
                           static_cast<unsigned long long>(most.rlim_cur) >> 10);
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line, static_cast<std::size_t>(size_B));
  _exit(kExitFailed);
}

}  // namespace

int main(int argc, char** argv) {
  guard_standard_streams();
  weft::use_huge_pages();
  CLI::App app(
      "Weft: an AI-interconnect lab in software. Describe hosts, NICs, switches and cables in one file; run real "
      "RoCEv2 "
      "through "
      "them.");
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  app.require_subcommand(1);
  std::set_new_handler(out_of_memory);
  int status = kExitWell;
  add_run(app, status);
  add_validate(app, status);
  add_schema(app, status);
  add_qos(app, status);
  add_perftest(app, status);
  add_nccl(app, status);
  add_catalog(app, status);
  add_counters(app, status);
  add_explain(app, status);
  add_up(app, status);
  add_exec(app, status);
  add_ps(app, status);
  add_down(app, status);
  add_link(app, status);
  add_fault(app, status);
  add_impair(app, status);
  add_set(app, status);
  add_trace(app, status);
  add_capture(app, status);
  add_analyze(app, status);
  add_emit(app, status);
  add_import(app, status);
  add_inspect(app, status);
  add_doctor(app, status);
  add_plan(app, status);
  add_choose(app, status);
  add_export(app, status);
  add_wireshark(app, status);
  add_serve(app, status);
  add_compare(app, status);
  add_sweep(app, status);
  add_report(app, status);
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    std::vector<std::string> arranged = with_own_options_first(with_end_of_options(words));
    std::reverse(arranged.begin(), arranged.end());
    app.parse(std::move(arranged));
  } catch (const CLI::Success& help) {  // --help, --version
    app.exit(help);
  } catch (const CLI::ParseError& error) {
    status = complain_of(app, error, words);
  }
  return finish(status);
}
