// Common part of the verbs that tell something to a world that is up: which world, at which moment, as JSON or not.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weft::cli {

struct CommandArguments {
  std::string world, at;
  std::vector<std::string> words;  // behind those that the command line has
  bool json = false;
  const CLI::App* verb = nullptr;
};
// --world, --at and --json.
void add_command_options(CLI::App& verb, CommandArguments& arguments);
// All that is not an option is a word of the world's: CLI11 would read "[3]" as a list of its own.
void add_words(CLI::App& verb, CommandArguments& arguments, const std::string& help);
// Sends the words, and passes on to stdout what the world sends until it ends or is interrupted.
int watch_world(const std::string& world, bool json, const std::vector<std::string>& words);
// Sends the verb's name and the words, prints what the world says, and returns the exit status.
int send_command(const std::string& verb, const CommandArguments& arguments);

}  // namespace weft::cli
