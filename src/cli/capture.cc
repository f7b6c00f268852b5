// weft capture start|stop|list, weft capture --live PORTS: see docs/commands.md.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/common.h"
#include "cli/verbs.h"

namespace weft::cli {

namespace {

struct CaptureVerb {
  CommandArguments command;
  CaptureArguments limits;
  std::string live, out, tap;
};

int capture(CaptureVerb& arguments) {
  use_json(arguments.command.json);
  if (!read_capture_options(arguments.limits)) return kExitWrongInput;
  std::vector<std::string>& words = arguments.command.words;
  const auto add = [](std::vector<std::string>& to, const char* option, const std::string& value) {
    if (!value.empty()) to.insert(to.end(), {option, value});
  };
  if (!arguments.live.empty()) {
    if (!arguments.command.verb->remaining().empty() || !arguments.out.empty())
      return wrong_input("--live with a command or --out", "write weft capture --live PORTS > FILE");
    std::vector<std::string> live{"capture", arguments.live};
    add(live, "--snaplen", arguments.limits.snaplen);
    return watch_world(arguments.command.world, false, live);
  }
  words = arguments.command.verb->remaining();
  // The world has a folder of its own.
  add(words, "--out", arguments.out.empty() ? "" : std::filesystem::absolute(arguments.out).string());
  add(words, "--snaplen", arguments.limits.snaplen);
  add(words, "--tap", arguments.tap);
  add(words, "--capture-size", arguments.limits.size);
  if (arguments.limits.files != 0) add(words, "--capture-files", std::to_string(arguments.limits.files));
  arguments.command.verb = nullptr;
  return send_command("capture", arguments.command);
}

}  // namespace

void add_capture(CLI::App& app, int& status) {
  auto arguments = std::make_shared<CaptureVerb>();
  CLI::App* verb = app.add_subcommand("capture", "Capture ports of a world that is up, into files or live");
  add_command_options(*verb, arguments->command);
  add_words(*verb, arguments->command, "start PORT[,PORT] or all, with --out FILE or --tap NAME; stop [NUMBER]; list");
  verb->add_option("--live", arguments->live, "Ports whose frames go to stdout as pcapng: | wireshark -k -i -");
  verb->add_option("--out", arguments->out, "File of the capture");
  verb->add_option("--tap", arguments->tap, "Network interface that the frames come in by, in place of a file");
  add_capture_options(*verb, arguments->limits);
  verb->callback([arguments, &status] { status = capture(*arguments); });
}

}  // namespace weft::cli
