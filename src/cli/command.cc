#include "cli/command.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/common.h"
#include "cli/worlds.h"
#include "live/os/place.h"
#include "text/units.h"

namespace weft::cli {

void add_command_options(CLI::App& verb, CommandArguments& arguments) {
  verb.add_option("--world", arguments.world, "Which world (default: the only one that is up)");
  verb.add_option("--at", arguments.at, "When, in the world's time, e.g. 1.5s (default: now)");
  verb.add_flag("--json", arguments.json, "Say it as JSON");
}

void add_words(CLI::App& verb, CommandArguments& arguments, const std::string& help) {
  arguments.verb = &verb;
  verb.allow_extras();
  verb.footer("Words: " + help);
}

int send_command(const std::string& verb, const CommandArguments& arguments) {
  use_json(arguments.json);
  std::int64_t at_ps = verbs::kNow_ps;
  if (!arguments.at.empty()) {
    const auto at = lab::parse_quantity(arguments.at, lab::Quantity::kTime);
    if (!at || *at < 0)
      return wrong_input(fmt::format("--at {}: {}", arguments.at, at ? "before the beginning" : at.error().message),
                         at ? "write 0 s or more" : at.error().remedy);
    at_ps = *at;
  }
  auto directory = live::runtime_directory();
  if (!directory) return complain(directory.error());
  auto world = choose_world(*directory, arguments.world);
  if (!world) return complain(world.error());
  std::vector<std::string> words{verb};
  words.insert(words.end(), arguments.words.begin(), arguments.words.end());
  if (arguments.verb != nullptr) {
    for (const std::string& word : arguments.verb->remaining()) {
      if (word.starts_with("--"))
        return wrong_input("no option " + word, fmt::format("weft {} --help shows the arguments", verb));
      words.push_back(word);
    }
  }
  for (const std::string& word : words) {
    if (word.find('\0') != word.npos || words.size() > verbs::kMaxWords || word.size() > 10'000)
      return wrong_input("too many words, or one that is too long", fmt::format("weft {} --help", verb));
  }
  auto answer = live::ask_command(live::socket_path(*directory, *world), at_ps, arguments.json, words);
  if (!answer) return failed(fmt::format("{}: {}", *world, answer.error()), "try again");
  if (answer->head.status == kExitWrongInput) return wrong_input(answer->text, answer->remedy);
  if (answer->head.status != kExitWell) return failed(answer->text, answer->remedy);
  put(answer->text);
  return kExitWell;
}

int watch_world(const std::string& asked, bool json, const std::vector<std::string>& words) {
  use_json(json);
  auto directory = live::runtime_directory();
  if (!directory) return complain(directory.error());
  auto world = choose_world(*directory, asked);
  if (!world) return complain(world.error());
  auto watch = live::watch_world(live::socket_path(*directory, *world), json, words);
  if (!watch) return failed(fmt::format("{}: {}", *world, watch.error()), "try again");
  if (watch->answer.head.status != kExitWell) return wrong_input(watch->answer.text, watch->answer.remedy);
  catch_interrupts();
  constexpr int kLook_ms = 100, kLooksAtEnd = 50;
  int looks = 0;
  bool asked_to_end = false;
  while (looks < kLooksAtEnd) {
    if (interrupted().load() && !asked_to_end) {
      asked_to_end = true;
      shutdown(watch->fd.fd, SHUT_WR);  // the world says what was lost, and ends it
    }
    if (asked_to_end) ++looks;
    const auto message = live::next_message(watch->fd.fd, kLook_ms);
    if (!message) break;
    if (message->error == verbs::kStreamEnd) {
      if (!message->bytes.empty()) fmt::print(stderr, "weft: {}\n", message->bytes);
      break;
    }
    if (message->bytes.empty()) continue;
    looks = 0;
    const std::size_t written = std::fwrite(message->bytes.data(), 1, message->bytes.size(), stdout);
    if (written != message->bytes.size() || std::fflush(stdout) != 0) break;  // its reader is gone
  }
  return kExitWell;
}

}  // namespace weft::cli
